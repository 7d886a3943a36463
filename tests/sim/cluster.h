/*  tests/sim/cluster.h - a whole cluster on one thread: clock, hosts, actors, network, leader.
 *
 *  Everything that happens is an event of the agenda.  Time is virtual.  Each host has its own
 *  clock, with an offset, which may jump.  The machines are those of runtime/core, driven as the
 *  real actors drive them: a busy actor does not read its messages. */
#ifndef TND_TESTS_SIM_CLUSTER_H
#define TND_TESTS_SIM_CLUSTER_H

#include <setjmp.h>

#include "runtime/core/cache.h"
#include "runtime/core/checkpoint.h"
#include "runtime/core/device/device_slots.h"
#include "runtime/core/feeder.h"
#include "runtime/core/host/barriers.h"
#include "runtime/core/host/dial.h"
#include "runtime/core/host/hang_watch.h"
#include "runtime/core/host/leader_presence.h"
#include "runtime/core/host/relay.h"
#include "runtime/core/host/replacement.h"
#include "runtime/core/host/run.h"
#include "runtime/core/host/wish.h"
#include "runtime/core/preprocessor.h"
#include "runtime/core/protocol/absence.h"
#include "runtime/core/protocol/heartbeat.h"
#include "runtime/core/protocol/link_end.h"
#include "runtime/core/reader.h"
#include "runtime/core/reducer.h"
#include "runtime/core/session/ending.h"
#include "tests/sim/agenda.h"
#include "tests/sim/reference.h"

enum { SIM_SCAN_NS = 100 * 1000 * 1000 }; /* between two checks of everything */
/*  Of an actor: longer than the longest work that ends. */
#define SIM_HUNG_AFTER_NS UINT64_C(700000000)
enum { SIM_HOST_ID = 1000 }; /* of the process of host h: SIM_HOST_ID + h */
static const uint32_t SIM_NONE = 0xffffffff;
enum { SIM_ROUNDS = 64, SIM_DEPTH = 4, SIM_TICKETS = 8, SIM_FOLDERS = 64, SIM_READERS = 4 };

typedef enum {
    SIM_AT_LINK,      /* packet a reaches its end */
    SIM_AT_LOCAL,     /* packet a: control within host b */
    SIM_AT_DELIVER,   /* host a, boot b: its control thread has a processor again */
    SIM_AT_NOTICE,    /* link a, side b: the transport saw connection c end */
    SIM_AT_TICK,      /* host a, boot b */
    SIM_AT_WORKED,    /* actor a, life b: the work hook returned */
    SIM_AT_DEVICE,    /* feeder a, life b: the step has ended on the host */
    SIM_AT_COPIED,    /* feeder a, life b: rows have been copied to its device */
    SIM_AT_EVENT,     /* feeder a, life b: its device has done a step */
    SIM_AT_HUNG,      /* feeder a, life b: its device will never do the step; it is killed */
    SIM_AT_READER,    /* feeder a, life b: a program releases its reader c */
    SIM_AT_BORN,      /* actor a starts */
    SIM_AT_BOOT,      /* the process of host a starts */
    SIM_AT_RESUME,    /* the process of host a resumes */
    SIM_AT_PARENT,    /* the parent of the process of host a looks at it */
    SIM_AT_SESSION,   /* the session's deadline */
    SIM_AT_VALIDATED, /* the chain that rests was validated; session a */
    SIM_AT_WRITTEN,   /* the manifest after step a */
    SIM_AT_FAULT,     /* fault a */
    SIM_AT_EARLY,     /* a fault of kind a, by time instead of blocks */
    SIM_AT_DUE,       /* actor a, life b: the deadline of its machine */
    SIM_AT_DRAIN,     /* a drain is requested */
    SIM_AT_TOUCH,     /* a user asks for something */
    SIM_AT_OPEN,      /* host a, boot b: some progress of opening its data */
    SIM_AT_SIGNAL,    /* a launcher signals the process of host a */
    SIM_AT_SCAN,      /* check everything */
    SIM_AT_KINDS
} sim_at_t;

typedef enum {
#define SIM_FAULT(kind, name, weight) SIM_##kind,
#include "tests/sim/fault_kinds.def"
#undef SIM_FAULT
    SIM_FAULT_KINDS
} sim_fault_kind_t;

/*  Where one bound port listens; all zero: not known. */
typedef struct {
    uint32_t endpoint;
    uint64_t listener; /* see tnd_terms_t */
} sim_place_t;

enum { SIM_PORTS = 2 }; /* of one actor */

typedef struct {
    sim_place_t places[SIM_ACTORS][SIM_PORTS];
    tnd_life_t born[SIM_ACTORS]; /* of replicas of a holder */
} sim_table_t;

/*  A message on its way. */
typedef struct {
    tnd_msg_t msg;
    uint32_t next;  /* of an inbox */
    uint32_t net;   /* connection */
    uint32_t link;  /* SIM_NONE: control within a host */
    uint32_t side;  /* of the receiver */
    uint32_t chain; /* of the sender */
} sim_packet_t;

/*  Packets that are not read yet. */
typedef struct {
    uint32_t first, last; /* SIM_NONE: none */
} sim_queue_t;

/*  A pair of actors, or a host and the leader: both ends and the path between them.  Side 0
 *  connects, side 1 binds. */
typedef struct {
    uint32_t host[2];
    uint32_t actor[2]; /* SIM_NONE: the processes themselves */
    tnd_end_t end[2];
    uint32_t net;    /* the connector's socket; 0: none */
    uint32_t bound;  /* the connection that the binder's end talks to; 0: none */
    uint32_t nets;   /* so far */
    uint32_t broken; /* nothing passes on connections up to this one */
    /*  An identity that the binder's socket still regards as connected: a peer with the same
     *  identity is ignored. */
    bool ghost;
    tnd_life_t ghost_life;
    uint32_t ghost_connection;
    uint32_t port;       /* of the binder */
    sim_place_t dialled; /* by the connector, which another listener may have taken since */
    bool stray;          /* the connector's socket has reached another listener */
    uint64_t last[2], heard_at[2], slow_until;
    uint64_t held_until[2]; /* messages to that side are held until then; none is lost */
    bool parting;           /* the last message on this connection was GOODBYE; its end follows */
    /*  A slow link: rows take `transfer_ns` to pass, and later messages wait.  Bytes arrive at a
     *  side from `moves_from` until `last`. */
    uint64_t crawls_until, transfer_ns, moves_from[2];
    /*  A path that is long in one direction: messages to `lag_side` take so much longer.  Hidden: a
     *  proxy on the path acknowledges at once, so the transport does not see how long. */
    uint64_t lag_ns, lag_since, lag_until;
    uint32_t lag_side;
    bool lag_is_hidden;
    uint64_t proxy_ns[2]; /* how long the proxy keeps what was sent to that side last */
    uint64_t dialled_at;  /* the connector's socket, in true time */
    uint64_t alone_since; /* the connector believes in a connection that the binder gave up */
    uint32_t alone_net;   /* that connection */
} sim_link_t;

typedef struct {
    uint64_t step;
    uint32_t slot;
    uint64_t leaves[SIM_REPLICAS];
    uint64_t rows;
    bool open, got;
} sim_round_t;

typedef struct {
    uint64_t step;
    bool used, on_device, keeps; /* keeps: the models after it are saved */
    bool cuts, unused;           /* its program ends the epoch with it; it comes back */
    uint64_t hash, copied;       /* of its rows when they were ready, and on the device's side */
    void *words;                 /* the report about saved models */
    uint32_t rows;
    uint64_t digest[2];
    uint32_t count[SIM_REPLICAS];
    uint64_t *ids[SIM_REPLICAS];
} sim_slot_t;

/*  Rows that a program still reads. */
typedef struct {
    bool reads;
    uint64_t *ids[SIM_REPLICAS];
    uint32_t count[SIM_REPLICAS];
    uint64_t hash;
    bool alone; /* the slot has other memory now */
} sim_reader_hold_t;

/*  Steps are counted from the start of the feeder. */
typedef struct {
    tnd_device_slots_t counts;
    uint64_t committed;
    uint32_t order[SIM_DEPTH];  /* the slot of a step */
    uint64_t link_at, event_at; /* when the last copy and the last step end */
    sim_reader_hold_t readers[SIM_READERS];
    struct {
        uint64_t *ids[SIM_REPLICAS];
    } spares[SIM_READERS];
    uint32_t reader_count, spare_count;
} sim_device_t;

typedef struct {
    uint32_t role, host;
    bool alive, busy;
    bool started;  /* its host knows where its peers listen */
    bool moved;    /* peers may listen elsewhere now */
    bool replaces; /* an earlier life in its process, and the leader has not heard of it */
    sim_place_t places[SIM_PORTS];
    tnd_life_t told_birth; /* of a replica, to the leader of this session */
    tnd_life_t life;       /* unique in the simulation */
    tnd_life_t said;       /* as peers are told: by the time of day */
    void *machine;
    tnd_validator_t *validator;
    sim_queue_t inbox;
    uint64_t slow_until;
    uint64_t born_at, worked_at; /* when it began, and when its last work ended */
    uint64_t long_ns;            /* the next work takes so much longer */
    uint64_t due_ns;             /* of its next deadline event */
    tnd_replacement_t replacement;
    tnd_life_t asked_life; /* that a user wants replaced, and since when; 0: none */
    uint64_t asked_at;
    bool restart_said;    /* of this, since its host is connected */
    uint64_t reported_at; /* that this life hangs, to the leader */
    tnd_hang_watch_t watch;
    uint64_t work_since, work_stopped; /* in true time; what its host had been stopped by then */
    uint32_t work_stops;               /* and how often */
    uint32_t payloads;                 /* held by this life */
    tnd_effect_t work;                 /* under way when busy */
    uint16_t links[SIM_ACTORS];
    uint32_t link_count;
    struct sim_cache *cache; /* its store */
    /* join */
    tnd_msg_t tickets[SIM_TICKETS];
    uint32_t ticket_count;
    uint64_t (*batches)[SIM_BUCKET_ROWS]; /* the rows of those that are stored, by place */
    /* feeder */
    sim_slot_t slots[SIM_DEPTH];
    sim_device_t device;
    uint32_t depth, depth_told; /* slots of these that it uses, and those that it is to use */
    bool depth_said;            /* by the leader, since its host is connected */
    uint32_t ready[SIM_DEPTH], ready_count;
    bool device_busy, device_applies, device_waits;
    uint64_t next_step,
        synced;         /* step that runs next; before which all rounds without rows are done */
    bool device_syncs;  /* it is busy with these */
    uint32_t sync_slot; /* the next one of them */
    uint64_t cut;       /* its program ends the epoch before this step; TND_UNKNOWN: not now */
    uint32_t reductions_open; /* of the step under way, without their result */
    uint32_t rounds_open;     /* not closed */
    sim_round_t rounds[SIM_ROUNDS];
    bool over;                /* it has sent its last message, MODEL */
    uint64_t kept;            /* the steps after which it saved its models last */
    void *last_report;        /* its report about those after the last step */
    tnd_passed_note_t passed; /* the last PASSED, sent or to be sent */
    bool has_passed;
    uint64_t committed; /* steps that were checked */
    uint64_t told;      /* of them, the leader has heard */
    tnd_keep_note_t keep;
    uint64_t model[SIM_REPLICAS]; /* of its replicas */
} sim_actor_t;

typedef struct {
    bool alive, paused, keeps_links;
    uint32_t boot;
    tnd_life_t life;
    uint64_t clock;      /* its offset */
    tnd_life_t said;     /* as `life`, by the time of day */
    int64_t day;         /* the offset of the time of day */
    bool stepped;        /* its clock has been set back */
    uint32_t control;    /* link to the leader */
    uint32_t generation; /* the latest that it knows */
    const sim_table_t *table;
    sim_event_t *frozen;
    uint32_t frozen_next, frozen_count;
    size_t frozen_room;
    uint64_t paused_at, resume_at, resumed_at;
    uint64_t expected_ns; /* by its clock, the latest time of its next look */
    uint64_t starved_ns;  /* of this pause: the leader was away too, and how often */
    uint32_t starves;
    uint64_t stopped_ns; /* all pauses that are over, and how many */
    uint32_t stops;
    uint32_t control_at_stop;
    uint64_t beat_ns;                    /* its last tick, in true time; 0: none yet */
    tnd_heartbeat_t heartbeat;           /* as its parent knows it */
    tnd_leader_presence_t leader;        /* as this process knows it */
    uint64_t leader_lost_at, greeted_at; /* in true time; greeted_at: connected to it */
    uint32_t given_up_net, lost_net;     /* last control: silent for it, lost by the leader */
    tnd_barriers_t barriers;
    uint32_t scale;  /* workers that a user lets work; 0: all */
    bool scale_said; /* by the leader, on this connection */
    bool stalls;     /* it never opens its data */
    uint64_t open_until, reports;
    tnd_ending_t ending; /* by signals, the first at that time */
    uint64_t signalled_at;
    tnd_wish_t drain;
    /* what the leader knows */
    uint64_t reported;
    uint64_t last_local; /* control within the host stays in order */
    uint64_t preempted_until;
    sim_queue_t unread; /* for its control thread meanwhile */
} sim_host_t;

/*  A checkpoint on the disk, perhaps incomplete. */
typedef struct {
    uint64_t step;
    bool there[SIM_REPLICAS];
    tnd_saved_t saved[SIM_REPLICAS]; /* as the files are */
    uint64_t models[SIM_REPLICAS];
    bool writing, manifest, torn;
    tnd_best_t best; /* as in the manifest: of the validations before it */
    uint64_t made;   /* the last of them */
    bool validated;  /* later the one after its own step was added: before that there was */
    tnd_best_t best_before;
    uint64_t made_before;
    tnd_saved_t parts[SIM_REPLICAS]; /* as in the manifest */
    unsigned char cursor[TND_CURSOR_FIXED_BYTES + 24 * SIM_LANES];
    size_t cursor_bytes;
} sim_folder_t;

typedef struct sim_saved_report sim_saved_report_t;

/*  In the order of their names in main.c. */
typedef struct {
    uint64_t events, blocks, checkpoints, resumes;
    uint64_t seconds;     /* second chains */
    uint64_t validations; /* for which a chain rested */
    uint64_t given_up;    /* checkpoints that later ones made useless before they were written */
    uint64_t ends, again; /* checkpoints after the last step; runs that resume from one */
    uint64_t silences;    /* connections given up for silence */
    uint64_t transfers;   /* longer than link_timeout */
    uint64_t strays;      /* connections that reached a wrong listener */
    uint64_t replaced;    /* processes that stayed stopped */
    uint64_t hangs;       /* actors that were said to hang */
    uint64_t signals;     /* of a launcher, that came to a process */
    uint64_t joins;       /* hosts that joined a run that had begun */
    uint64_t openings, stalls; /* hosts that opened their data; that stopped reporting */
    uint64_t doubled;          /* blocks that came twice */
    uint64_t starts, left_out; /* of runs that lost a host; processes that such a start left out */
    uint64_t pushes, redone;   /* applied to parameters; steps whose rows a dead replica had */
    uint64_t dealt;            /* steps that replicas of a holder have run */
    uint64_t syncs;            /* rounds without rows to which feeders posted */
    uint64_t ended_early;      /* processes that died before they were connected */
    uint64_t faults[SIM_FAULT_KINDS];
} sim_counts_t;

/*  Deaths of workers by one row, since the latest rewind or fault. */
typedef struct {
    uint32_t epoch, generation, fault, deaths;
    uint64_t at; /* of the last one */
} sim_kills_t;

typedef struct sim sim_t;
struct sim {
    sim_plan_t plan;
    sim_reference_t reference;
    sim_store_t store;
    sim_agenda_t agenda;
    uint64_t now;
    sim_random_t chance;   /* of the network and of work */
    sim_random_t bad_luck; /* of faults */
    sim_random_t moments;  /* of faults by time */
    sim_random_t sleep;    /* of workers */
    sim_random_t disk_luck;
    sim_random_t device_luck;
    sim_host_t hosts[SIM_HOSTS];
    sim_actor_t actors[SIM_ACTORS];
    sim_link_t links[SIM_LINKS];
    uint32_t link_count;
    uint16_t link_of[SIM_ACTORS][SIM_ACTORS]; /* link + 1 */
    sim_packet_t *packets;
    uint32_t packet_count, packet_unused;
    size_t packet_room;
    tnd_life_t lives;
    tnd_actor_id_t joins[SIM_LANES], caches[SIM_LANES], feeder_of[SIM_REPLICAS],
        readers[SIM_LANES][2];
    const char *host_names[SIM_HOSTS], *feeder_names[SIM_REPLICAS];
    tnd_actor_id_t worker_readers[SIM_ACTORS][2 * SIM_LANES], worker_joins[SIM_ACTORS][SIM_LANES];
    uint32_t worker_reader_lanes[SIM_ACTORS][2 * SIM_LANES];
    uint32_t worker_lanes[SIM_ACTORS][SIM_LANES], worker_reader_count[SIM_ACTORS];
    uint32_t worker_lane_count[SIM_ACTORS];
    tnd_party_t parties[SIM_ACTORS];
    tnd_membership_t membership;
    tnd_bounds_t bounds;
    /* the leader */
    tnd_run_t run;
    tnd_host_presence_t presences[SIM_HOSTS];
    tnd_run_start_host_t start_hosts[SIM_HOSTS];
    uint32_t awake[SIM_ACTORS];
    uint8_t host_flags[SIM_HOSTS];
    sim_place_t table[SIM_ACTORS][SIM_PORTS];
    uint32_t endpoints;      /* used so far, where none is used twice */
    sim_random_t order_luck; /* the order in which actors of a process bind */
    bool leader_dead, feeder_dead, rogue_found, over;
    bool closed; /* checkpoints know the end of the chain */
    uint32_t chain;
    bool follows;                /* the second chain is due */
    uint64_t base;               /* steps before the stream was fed for the first time, or again */
    tnd_validation_t validation; /* of the first chain */
    bool validates;              /* the chain rests for it */
    struct sim_parameters *held; /* of a holder; NULL: there is none */
    tnd_best_t best;             /* of those so far, with those of earlier sessions */
    uint64_t best_kept; /* the steps before the checkpoint that has to stay; 0: none has to */
    uint64_t ends_at;   /* the step after which the run ends for lack of better ones; TND_UNKNOWN */
    uint64_t rest_step; /* no feeder starts this step, or one of this epoch, before it goes on */
    uint32_t rest_epoch;
    bool closing;        /* the stream is over; MODEL or the last manifest is missing */
    bool last_death;     /* a host with a feeder died after the stream */
    uint64_t unwritten;  /* the last step whose checkpoint the disk refused */
    uint64_t session_at; /* its next event */
    unsigned char stored[TND_CURSOR_FIXED_BYTES + 24 * SIM_LANES];
    size_t stored_bytes;
    bool write_fails;
    uint64_t booked;
    tnd_cursor_t from;
    tnd_checkpoint_t *checkpoint;  /* NULL: the cursor alone is stored */
    uint64_t models[SIM_REPLICAS]; /* at the start of a session */
    sim_folder_t folders[SIM_FOLDERS];
    uint32_t folder_count;
    /* faults */
    uint64_t fault_mask; /* bit i: fault i is left out */
    uint32_t fault_next;
    sim_kills_t kills[SIM_KILLERS];
    bool fault_due;
    uint64_t fault_at_blocks[SIM_FAULTS];
    uint64_t drain_at;
    /*  Programs end their loops before that step, one host's before another; TND_UNKNOWN: they do not.
     *  What the leader has heard of it. */
    uint64_t finish_at, finish_odd, finish_heard;
    uint32_t odd_host;
    bool finished;
    uint64_t failing_at;    /* since when the run fails; TND_NEVER: it does not */
    uint64_t faults_end;    /* when the last one is over */
    uint64_t starved_until; /* no process has a processor */
    uint32_t busy_host;     /* stopped by SIM_BUSY */
    uint32_t flaps_left;    /* of the worker whose connections do not last */
    uint64_t progress_at;
    uint64_t crossing_until; /* rows pass a slow link, perhaps those of earlier generations */
    /* touches */
    sim_random_t touch_luck;
    uint32_t touches_left, burst; /* burst: of pauses and resumes in a row */
    uint32_t depth;               /* slots of each feeder that a user has asked for; 0: none */
    uint64_t touched_at, touched_until; /* the last that was carried out; until the next is due */
    /* results */
    bool trace, print_rows;
    uint64_t events, blocks; /* of this run */
    uint64_t events_begin;   /* from then on they are counted for livelocks */
    sim_counts_t counts;     /* of all runs */
    char violation[1024];
    sigjmp_buf escape; /* out of a broken assertion */
    bool escapes;
};

/*  A machine of the core, in memory of the run. */
#define SIM_MAKE(self, machine, config)                                                            \
    machine##_init(sim_store_take(&(self)->store, machine##_bytes(config)), config)

/*  Runs all sessions of a seed; returns false if a promise was violated. */
bool sim_run(sim_t *self, uint64_t seed, uint64_t fault_mask);
/*  Before it: the processes of a launcher meet (roster.c). */
void sim_roster_run(sim_t *self, uint64_t seed);
/*  Besides: a run of such processes loses hosts and starts again (resumptions.c). */
void sim_resumptions_run(sim_t *self, uint64_t seed);
/*  Besides: replicas compute on the parameters of a holder (parameters.c). */
void sim_parameters_run(sim_t *self, uint64_t seed);

/*  trace.c and cluster.c */
void sim_violate(sim_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_say(sim_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_say_msg(sim_t *self, const tnd_msg_t *msg);
const char *sim_name(sim_t *self, uint32_t actor);
/*  A new life as its host names it: by the time of day, which may have gone back. */
tnd_life_t sim_life(const sim_t *self, uint32_t host);
void sim_control(sim_t *self, uint32_t host, tnd_msg_t *msg);
static inline uint64_t sim_clock(const sim_t *self, uint32_t host)
{
    return self->now + self->hosts[host].clock;
}
/*  An event happens, or a fault strikes, so many nanoseconds from now. */
static inline void sim_after(sim_t *self, uint64_t ns, sim_at_t kind, uint32_t a, uint32_t b,
                             uint32_t c)
{
    sim_agenda_put(&self->agenda, self->now + ns, kind, a, b, c);
}
static inline void sim_fault_after(sim_t *self, uint64_t ns, sim_fault_kind_t kind)
{
    sim_after(self, ns, SIM_AT_EARLY, kind, 0, 0);
}
/*  payloads.c: a payload has one holder at a time; the payloads of each actor are counted. */
sim_payload_t *sim_payload(sim_t *self, uint32_t rows, uint32_t bad, uint32_t holder);
/*  Moves it from one holder to another; SIM_FLYING is the wire. */
void sim_own(sim_t *self, void *payload, uint32_t from, uint32_t to);
void sim_free(sim_t *self, void *payload, uint32_t holder);
void sim_free_msg(sim_t *self, tnd_msg_t *msg);
sim_packet_t *sim_packet(sim_t *self, uint32_t *index_p);
void sim_packet_done(sim_t *self, uint32_t index);
/*  With its payload. */
void sim_packet_drop(sim_t *self, uint32_t index);
void sim_queue_put(sim_t *self, sim_queue_t *queue, uint32_t packet);
uint32_t sim_queue_take(sim_t *self, sim_queue_t *queue);
void sim_queue_drop(sim_t *self, sim_queue_t *queue);
/*  Whether it is for actors of the previous chain. */
bool sim_packet_is_late(const sim_t *self, const sim_packet_t *packet);
/*  network.c */
void sim_links_plan(sim_t *self);
void sim_link_birth(sim_t *self, uint32_t link, uint32_t side, bool again);
void sim_link_drop(sim_t *self, uint32_t link, uint32_t side);
void sim_link_send(sim_t *self, uint32_t link, uint32_t side, const tnd_msg_t *msg);
void sim_link_arrive(sim_t *self, uint32_t packet);
/*  Whether a HELLO of that host's, or of its actors, is under way. */
bool sim_links_greet(const sim_t *self, uint32_t host);
/*  Something came that its owner no longer needs: the end hears that the peer lives. */
void sim_link_heard(sim_t *self, uint32_t packet);
void sim_link_notice(sim_t *self, uint32_t link, uint32_t side, uint32_t net);
void sim_link_tick(sim_t *self, uint32_t link, uint32_t side);
void sim_links_tick(sim_t *self, uint32_t actor);
/*  Checks that an end that was given up learns it. */
void sim_links_check(sim_t *self);
/*  Both ends count the time since the last look as their own absence. */
void sim_link_excuse(sim_t *self, uint32_t link);
void sim_link_break(sim_t *self, uint32_t link, bool tell_connector, bool tell_binder);
/*  The connector closes its connection and connects to that place. */
void sim_link_dial(sim_t *self, uint32_t link, sim_place_t at);
/*  The binder receives a HELLO in the name of the connector that another process sent.
 *  `is_foreign`: one of another user. */
void sim_link_lie(sim_t *self, uint32_t link, const tnd_msg_t *hello, bool is_foreign);
/*  If the connector waits where its peer does not listen, a process of another user welcomes it. */
void sim_link_squat(sim_t *self, uint32_t link);
/*  A message arrives at a wrong listener. */
void sim_link_stray(sim_t *self, uint32_t packet);
/*  endpoints.c: the owner of an endpoint (or SIM_NONE); new actors of a host bind; where they listen
 *  (SIM_NONE: all, as the leader knows); the leader receives that (returns whether it is news), and
 *  forgets it with a process; a host is told (`go`: its actors may run); an actor may run; one that was
 *  away looks. */
void sim_endpoints_plan(sim_t *self);
uint32_t sim_endpoint_owner(const sim_t *self, uint32_t endpoint, uint32_t *port);
void sim_endpoints_bind(sim_t *self, uint32_t host);
sim_table_t *sim_endpoints_of(sim_t *self, uint32_t host);
bool sim_endpoints_heard(sim_t *self, uint32_t host, const sim_table_t *said);
void sim_endpoints_forget(sim_t *self, uint32_t host);
void sim_endpoints_take(sim_t *self, uint32_t host, const sim_table_t *table, bool go);
void sim_endpoints_go(sim_t *self, uint32_t actor);
void sim_endpoints_look(sim_t *self, uint32_t actor);
/*  start.c, a host: its process starts; some time of opening its data passes; it is connected to the
 *  leader; an actor listens elsewhere; something about its actors has changed; it is told; the next
 *  chain begins. */
void sim_start_boot(sim_t *self, uint32_t host);
void sim_start_open(sim_t *self, uint32_t host);
void sim_start_greet(sim_t *self, uint32_t host);
void sim_start_move(sim_t *self, uint32_t host);
void sim_start_told(sim_t *self, uint32_t host, const tnd_msg_t *msg);
void sim_start_again(sim_t *self, uint32_t host);
/*  A host tells the leader something about itself or an actor. */
void sim_tell_leader(sim_t *self, uint32_t host, tnd_msg_kind_t kind, uint64_t number,
                     void *payload);
/*  actors.c */
/*  Whether the actor reads no messages now: it is inside a hook, or does not run yet. */
static inline bool sim_actor_away(const sim_actor_t *actor)
{
    return actor->busy || !actor->started;
}
/*  The actor runs now: it reads its messages, and its host reports it. */
void sim_actor_started(sim_t *self, uint32_t actor);
/*  lives.c: the next life of an actor begins; the actor begins work; the leader wants it restarted; something about it has changed;
 *  whether it is to end when its hook returns; a host looks at its actors; its leader is back. */
void sim_life_begin(sim_t *self, uint32_t actor);
void sim_life_works(sim_t *self, sim_actor_t *actor);
void sim_life_ask(sim_t *self, uint32_t actor, bool asked);
void sim_life_follow(sim_t *self, uint32_t actor);
bool sim_life_stops(const sim_actor_t *actor);
void sim_lives_tick(sim_t *self, uint32_t host);
void sim_lives_forget(sim_t *self, uint32_t host);
void sim_actor_born(sim_t *self, uint32_t actor);
void sim_actor_dies(sim_t *self, uint32_t actor);
/*  The actor dies, and its host notices. */
void sim_actor_crash(sim_t *self, uint32_t actor);
void sim_actor_message(sim_t *self, uint32_t actor, tnd_msg_t *msg);
void sim_actor_run(sim_t *self, uint32_t actor);
void sim_actor_due(sim_t *self, uint32_t actor);
void sim_actor_worked(sim_t *self, uint32_t actor);
void sim_actor_up(sim_t *self, uint32_t actor, tnd_actor_id_t peer);
void sim_actor_lost(sim_t *self, uint32_t actor, tnd_actor_id_t peer);
uint32_t sim_actor_blocked_on(const sim_t *self, uint32_t actor);
/*  Hands a packet to an actor, now or when it is free. */
void sim_actor_receive(sim_t *self, uint32_t actor, uint32_t packet);
/*  For the roles: how long work of `ns` takes this time; the work hook is called; messages by control
 *  and by links. */
uint64_t sim_actor_span(sim_t *self, const sim_actor_t *actor, uint64_t ns);
void sim_actor_work(sim_t *self, uint32_t actor, const tnd_effect_t *effect, uint64_t ns);
void sim_actor_control(sim_t *self, const sim_actor_t *actor, tnd_msg_t *msg);
void sim_actor_send(sim_t *self, uint32_t actor, tnd_actor_id_t to, const tnd_msg_t *msg);
/*  A message that a machine refuses ends a real run; here it is a violation. */
void sim_actor_accept(sim_t *self, uint32_t actor, tnd_status_t status, const tnd_error_t *error);
/*  What an actor of one role does; each has a file of its own. */
typedef struct {
    void *(*create)(sim_t *self, uint32_t actor); /* its machine */
    void (*run)(sim_t *self, uint32_t actor);     /* performs the effects of its machine */
    void (*message)(sim_t *self, uint32_t actor, tnd_msg_t *msg);
    void (*worked)(sim_t *self, uint32_t actor); /* its work hook returned; NULL: it has none */
    void (*up)(sim_t *self, uint32_t actor, tnd_actor_id_t peer);
    void (*lost)(sim_t *self, uint32_t actor, tnd_actor_id_t peer);
    void (*end)(sim_t *self, uint32_t actor); /* its process continues; NULL: nothing to do */
} sim_role_t;
extern const sim_role_t sim_reader, sim_preprocessor, sim_batcher, sim_feeder, sim_reducer,
    sim_cache, sim_holder, sim_replica;

/*  Ends the block before the first position that does not fit its budget, or earlier.  `made`: rows
 *  are counted at their size as made, else as read. */
void sim_fit_rows(sim_t *self, tnd_block_note_t *block, const tnd_held_t *held, bool made);
/*  Whether the number of workers that are awake changes with this message. */
bool sim_sleep_changes(sim_t *self, uint32_t host, const tnd_msg_t *msg);
/*  Fills in the rows made from the positions of a block; `actor` holds them. */
void sim_make_rows(sim_t *self, uint32_t actor, tnd_block_note_t *block, const tnd_held_t *held);
/*  feeder.c */
/*  A part of the current step has ended on the host; the next step starts if it may; a step is over. */
void sim_feeder_device(sim_t *self, uint32_t feeder);
void sim_feeder_goes(sim_t *self, uint32_t feeder);
void sim_feeder_commit(sim_t *self, uint32_t feeder, sim_slot_t *slot);
/*  Posts to a round; whether it may do so now, or goes on once another round is closed. */
void sim_feeder_post(sim_t *self, uint32_t feeder, const sim_round_t *round);
bool sim_feeder_may_post(const sim_t *self, sim_actor_t *feeder);
/*  syncs.c: how many rounds without rows are before a step; the result of one; whether a step that was run
 *  cannot be committed before them; they begin if they are due; a part of them has ended. */
uint32_t sim_sync_slots(const sim_plan_t *plan, uint64_t step);
uint64_t sim_sync_root(const sim_plan_t *plan, uint64_t step, uint32_t slot);
bool sim_sync_holds(const sim_t *self, uint32_t feeder, uint64_t step);
bool sim_sync_begins(sim_t *self, uint32_t feeder);
void sim_sync_goes_on(sim_t *self, uint32_t feeder);
/*  holder.c: what pushes have made, over all sessions: the run begins, a session begins, a session has ended
 *  well; a holder sends MODEL; the steps that it has started; what it waits for. */
void sim_parameters_make(sim_t *self);
void sim_parameters_begin(sim_t *self);
void sim_parameters_check_end(sim_t *self);
void sim_holder_model(sim_t *self, uint32_t holder);
uint64_t sim_holder_started(const sim_actor_t *holder);
uint32_t sim_holder_blocked_on(const sim_actor_t *holder);
/*  replica.c: the step that runs has ended; what an actor with replicas waits for. */
void sim_replica_device(sim_t *self, uint32_t actor);
uint32_t sim_replica_blocked_on(const sim_actor_t *actor);
/*  device.c: a slot has the rows of the next step; they were copied; whether that step may start; it
 *  was put on the device; the device has done it, or never will; a step that ended is committed;
 *  the slot gets memory for another step; a program releases rows. */
void sim_device_ready(sim_t *self, uint32_t feeder, uint32_t slot);
void sim_device_copied(sim_t *self, uint32_t feeder);
bool sim_device_starts(const sim_actor_t *actor);
void sim_device_put(sim_t *self, uint32_t feeder);
/*  What was held may be committed. */
void sim_device_go_on(sim_t *self, uint32_t feeder);
void sim_device_event(sim_t *self, uint32_t feeder);
void sim_device_hung(sim_t *self, uint32_t feeder);
void sim_device_refill(sim_t *self, uint32_t feeder, sim_slot_t *slot);
void sim_device_release(sim_t *self, uint32_t feeder, uint32_t reader);
/*  Sends MODEL. */
void sim_feeder_model(sim_t *self, uint32_t feeder);
void sim_host_up(sim_t *self, uint32_t link, uint32_t side);
void sim_host_lost(sim_t *self, uint32_t link, uint32_t side, tnd_loss_t loss);
void sim_host_message(sim_t *self, uint32_t link, uint32_t side, tnd_msg_t *msg);
void sim_process_dies(sim_t *self, uint32_t host, uint64_t back_ns);
void sim_process_look(sim_t *self, uint32_t host);
void sim_process_tick(sim_t *self, uint32_t host);
void sim_process_boot(sim_t *self, uint32_t host);
/*  As `up`: replaces the process if it stays stopped. */
void sim_process_look_after(sim_t *self, uint32_t host);
/*  Whether its process may die: it has no feeder and is not the leader's. */
bool sim_process_is_soft(const sim_t *self, uint32_t host);
void sim_process_resume(sim_t *self, uint32_t host, uint32_t boots);
/*  Keeps an event of a process that is paused. */
void sim_process_freeze(sim_host_t *host, const sim_event_t *event);
void sim_happen(sim_t *self, const sim_event_t *event);
/*  Drops an event without a receiver. */
void sim_discard(sim_t *self, const sim_event_t *event);
/*  The process of a host has a control message, which it takes or passes on. */
void sim_route(sim_t *self, uint32_t host, const tnd_msg_t *msg);
void sim_deliver_unread(sim_t *self, uint32_t host);
/*  leader.c: a run begins; a host is connected by a process; a message for the leader; the next chain
 *  begins; whether the reason of a failure names a host that stalls. */
void sim_leader_plan(sim_t *self);
void sim_leader_greet(sim_t *self, uint32_t host, tnd_life_t life);
void sim_leader_message(sim_t *self, const tnd_msg_t *msg);
/*  The process of a host has ended, as its system tells the leader, which may not be connected to it yet. */
void sim_leader_ends_early(sim_t *self, uint32_t h);
void sim_leader_next_chain(sim_t *self);
/*  The same actors are fed again: those that died before are restarted. */
void sim_leader_restart_due(sim_t *self);
bool sim_leader_names_stalled(const sim_t *self);
/*  A chain starts with its machine; the machine's effects are performed; hosts that were away
 *  for too long are lost; the stream is over, and last messages or files may be due; its deadline,
 *  or a manifest was written. */
void sim_leader_start(sim_t *self);
void sim_leader_run(sim_t *self);
void sim_leader_lose(sim_t *self);
void sim_leader_finish(sim_t *self);
void sim_leader_due(sim_t *self, const sim_event_t *event);

/* --- failures.c: runs that fail --- */

/*  How long a run that fails waits at most. */
uint64_t sim_failure_settle_ns(const sim_t *self);
void sim_failure_begin(sim_t *self);
/*  COMMIT came to the leader. */
void sim_failure_told(sim_t *self, const tnd_msg_t *msg);
/*  Whether the host of an actor that dies says that it has failed, and not which actor hangs. */
bool sim_failure_says(sim_t *self, uint32_t id);
/*  After each event of the leader. */
void sim_failure_check(sim_t *self);

/* --- finish.c: programs that end their loops --- */

/*  validations.c: a chain starts / its leader has done what it can / it was validated. */
void sim_validations_begin(sim_t *self);
void sim_validations_check(sim_t *self);
void sim_validated(sim_t *self);
/*  The step after which validations end the run; TND_UNKNOWN: they do not. */
uint64_t sim_validations_end(const sim_t *self);
/*  A feeder starts a step. */
void sim_validations_start(sim_t *self, uint32_t id, const tnd_slice_note_t *slice);
/*  Draws whether and when the programs of this chain end their loops. */
void sim_finish_plan(sim_t *self);
/*  The step before which the program of that host ends its loop; TND_UNKNOWN. */
uint64_t sim_finish_of(const sim_t *self, uint32_t host);
/*  How many times as long steps take on that host. */
uint64_t sim_finish_slows(const sim_t *self, uint32_t host);
/*  A feeder has committed so many steps, or its host has reached the leader again. */
void sim_finish_say(sim_t *self, uint32_t id, uint64_t steps);
void sim_finish_heard(sim_t *self, uint32_t host, uint64_t steps);
/*  Ends the run if its programs have ended their loops. */
void sim_finish_end(sim_t *self);
/*  Whether a run has failed because programs ended their loops after different steps. */
bool sim_finish_failed(const sim_t *self);
/*  checkpoints.c: a session begins, rewinds, receives a report, books, has written a manifest. */
void sim_checkpoint_begin(sim_t *self);
void sim_checkpoint_generation(sim_t *self);
void sim_checkpoint_report(sim_t *self, const void *words);
/*  All feeders have sent MODEL; whether something is being written; checks what the disk must have. */
void sim_checkpoint_end(sim_t *self);
bool sim_checkpoint_busy(const sim_t *self);
void sim_checkpoint_check(sim_t *self);
void sim_checkpoint_booked(sim_t *self, uint64_t step);
void sim_checkpoint_written(sim_t *self, uint64_t step);
/*  A feeder saves its models after `step`; returns its report, which travels with COMMIT. */
void *sim_checkpoint_part(sim_t *self, uint32_t feeder, uint64_t step);
/*  The chain was validated after `step`, which is in its checkpoint then; its best one stays. */
void sim_checkpoint_validated(sim_t *self, uint64_t step);
/*  The job ended, in order or at once; the next one resumes from the disk. */
void sim_checkpoint_killed(sim_t *self, bool at_once);
void sim_checkpoint_resume(sim_t *self);
/*  validator.c: the members of the plan; a validator for a new actor; checks of messages by a link,
 *  by control, through a host and to the leader; the check that generations were confirmed. */
void sim_validator_plan(sim_t *self);
tnd_validator_t *sim_validator_new(sim_t *self, uint32_t actor);
void sim_validator_link(sim_t *self, uint32_t actor, tnd_actor_id_t peer, const tnd_msg_t *msg);
void sim_validator_control(sim_t *self, uint32_t actor, const tnd_msg_t *msg);
void sim_validator_relay(sim_t *self, uint32_t host, uint32_t origin, const tnd_msg_t *msg);
void sim_validator_report(sim_t *self, const tnd_msg_t *msg);
void sim_validator_confirm(sim_t *self, uint32_t actor);
/*  faults.c */
void sim_faults_plan(sim_t *self);
void sim_faults_block(sim_t *self);
void sim_fault_strike(sim_t *self, uint32_t fault);
/*  A fault by time: during the start, or when the leader does something important. */
void sim_fault_early(sim_t *self, uint32_t kind);
void sim_fault_moment(sim_t *self);
/*  The stream is over: a last fault may occur. */
void sim_fault_last(sim_t *self);
/*  touches.c: a session or chain begins; a user asks for something, which the leader, then
 *  a host hears of; a host is connected; the promises about that. */
void sim_touches_plan(sim_t *self);
void sim_touch(sim_t *self);
void sim_touch_drain(sim_t *self);
void sim_touches_heard(sim_t *self, uint32_t host, const tnd_msg_t *msg);
void sim_touches_told(sim_t *self, uint32_t host, const tnd_msg_t *msg);
void sim_touches_follow(sim_t *self);
void sim_touches_check(sim_t *self);
/*  A host is lost, and with it what was asked of its actors. */
void sim_touches_forget(sim_t *self, uint32_t host);
/*  signals.c: a session begins; a launcher signals a host, which tells its leader when it can, and again by
 *  another connection; the promises about that. */
void sim_signals_plan(sim_t *self);
void sim_signal(sim_t *self, uint32_t host);
void sim_signals_follow(sim_t *self, uint32_t host);
void sim_signals_greet(sim_t *self, uint32_t host);
void sim_signals_check(sim_t *self);
/*  How many workers a reader, or a cache, may give blocks to. */
uint32_t sim_awake(sim_t *self, uint32_t host);
const char *sim_fault_name(sim_fault_kind_t kind);
/*  checks.c */
void sim_check_begin(sim_t *self);
void sim_check_actor(sim_t *self, uint32_t actor);
void sim_check_all(sim_t *self);
void sim_check_booked(sim_t *self, const tnd_cursor_t *cursor);
void sim_check_step(sim_t *self, uint32_t feeder, const sim_slot_t *slot);
void sim_check_end(sim_t *self);
void sim_print_rows(uint64_t step, uint32_t replica, const uint64_t *ids, uint32_t count);
uint64_t sim_root(sim_t *self, uint64_t step, uint32_t slot);
void sim_explain(sim_t *self);

#endif
