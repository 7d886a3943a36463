/*  Covers transport/zmq/hub_zmq.c, between machines: the conformance suite of hubs.  */
#include "tests/conformance/hub_suite.h"

#include "tests/support/hub_fixtures.h"

static hub_fixture_t hub_fixture(void)
{
    hub_fixture_t fixture = zmq_fixture();
    snprintf(fixture.endpoint, sizeof fixture.endpoint, "tcp://127.0.0.1:*");
    return fixture;
}
