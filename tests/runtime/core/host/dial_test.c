/*  Covers runtime/core/host/dial.h. */
#include "runtime/core/host/dial.h"

#include <criterion/criterion.h>

enum { FIRST = 16, LATER = 32 };

Test(dial, a_peer_is_dialled_once_it_is_announced)
{
    cr_assert_eq(tnd_dial_of(0, 0), TND_DIAL_LATER);
    cr_assert_eq(tnd_dial_of(0, FIRST), TND_DIAL_ANEW);
}

Test(dial, a_listener_that_is_announced_again_is_tried_at_once)
{
    cr_assert_eq(tnd_dial_of(FIRST, FIRST), TND_DIAL_AGAIN);
}

Test(dial, a_peer_that_has_begun_again_is_dialled_anew)
{
    cr_assert_eq(tnd_dial_of(FIRST, LATER), TND_DIAL_ANEW);
}

Test(dial, a_connection_stays_while_its_peer_is_not_announced)
{
    cr_assert_eq(tnd_dial_of(FIRST, 0), TND_DIAL_LATER);
}
