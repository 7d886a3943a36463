/*  runtime/core/protocol/admission.c - which processes may be at the other end of a connection. */
#include "runtime/core/protocol/admission.h"

#include "runtime/base/bug_injection.h"

enum { ROOT = 0 };

static bool lists(const tnd_admission_t *rules, uint32_t user)
{
    for (size_t i = 0; i < rules->user_count; i++)
        if (rules->users[i] == user)
            return true;
    return false;
}

static bool admits(const tnd_admission_t *rules, uint32_t user, bool looks)
{
    if (user == rules->self || lists(rules, user) || TND_BUG(USER_UNCHECKED))
        return true;
    return user == ROOT && (looks || lists(rules, rules->self));
}

tnd_admission_verdict_t tnd_admission_judge(const tnd_admission_t *rules, tnd_peer_t peer,
                                            bool looks)
{
    switch (peer.place) {
    case TND_PEER_GONE:
        return TND_ADMISSION_OVER;
    case TND_PEER_UNKNOWN:
        return rules->insecure ? TND_ADMITTED : TND_ADMISSION_MACHINE;
    case TND_PEER_LOCAL:
        break;
    }
    return admits(rules, peer.user, looks) ? TND_ADMITTED : TND_ADMISSION_USER;
}
