/*  Covers transport/zmq/hub_zmq.c, inside a process: the conformance suite of hubs.  */
#include "tests/conformance/hub_suite.h"

#include "tests/support/hub_fixtures.h"

static hub_fixture_t hub_fixture(void)
{
    hub_fixture_t fixture = zmq_fixture();
    fixture.trusts = true;
    snprintf(fixture.endpoint, sizeof fixture.endpoint, "inproc://join");
    return fixture;
}
