/*  Covers runtime/interface/link.h: the conformance suite of hubs, for the scheme HUB_SCHEME of
 *  transport/hub/hubs.def. */
#include "tests/conformance/hub_handshake.h"
#include "tests/conformance/hub_messages.h"
#include "tests/conformance/hub_peers.h"

static hub_fixture_t hub_fixture(void)
{
    return hub_fixture_of(HUB_SCHEME);
}
