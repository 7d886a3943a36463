/*  runtime/base/bug_injection.h - bugs that the simulator plants in the core and must find.
 *
 *  Files of the core that name a bug are compiled twice.  In the library TND_BUG(x) is the constant
 *  false and nothing of this is left; in the simulator it is true if that bug was chosen.  A build
 *  with sanitizers has the library only: TND_BUGS_BUILT_IN is then 0.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_BUG_INJECTION_H
#define TND_RUNTIME_BASE_BUG_INJECTION_H

/*  NAME, what it does. */
#define TND_BUGS(X)                                                                                \
    X(ACK_ON_RECEIPT, "the floor advances when a block arrives, not when it is joined")            \
    X(DUPLICATE_OFF_BY_ONE, "the duplicate check lets the block just below the floor in again")    \
    X(END_NOT_RETAINED, "an end of epoch that must be asked for again is forgotten")               \
    X(STALE_GENERATION, "slices of an older generation count towards partial steps")               \
    X(SLEEPER_FORGETS_ITS_BLOCKS, "a worker that is woken has all its credit again")               \
    X(CREDIT_NOT_RESTORED, "a lost ticket is issued again without giving its credit back")         \
    X(FRONT_INSTEAD_OF_SORTED, "a ticket issued again goes to the front of the queue")             \
    X(RESERVATION_MISSING, "tickets are issued without reserving the largest block")               \
    X(SHORT_REST_FORGOTTEN, "what a short answer leaves of its ticket is not asked for again")     \
    X(TWO_OVERSIZE, "a row above the budget is asked for before it is the floor")                  \
    X(LEARNED_SIZE_UNCHECKED, "a ticket reserves the usual size of its rows and not its budget")   \
    X(ROUTING_ID_REUSED, "a new connection uses the identity of the one before")                   \
    X(CURSOR_ONE_LATE, "the cursor of a step is the one of the step before")                       \
    X(BATCHES_FORGOTTEN, "a lane that resumes does not make the batches that its cursor counts")   \
    X(LENGTHS_OF_THE_BLOCK, "the lengths of a block that is partly taken begin at its first row")  \
    X(BUCKET_HOLDS_ITS_BOUND, "a row as long as the bound of its bucket is put into that bucket")  \
    X(BUCKETS_FLUSHED_BACKWARDS, "rows left at the end of a window come out last bucket first")    \
    X(BATCH_OVERWRITTEN, "rows of a bucket are stored over a batch that was not sent")             \
    X(WINDOW_STARTS_EARLY, "the cursor after a window of buckets stays at its start")              \
    X(PACKED_VALUES_TWICE, "a run that resumes packs a document again from its first value")       \
    X(PACKED_OVERWRITTEN, "values are packed over a batch that was not sent")                      \
    X(PACKED_REST_FORGOTTEN, "the last packed row of an epoch is lost if it is not full")          \
    X(MARK_AHEAD, "a watermark counts rows that were received but not joined")                     \
    X(ROUND_CLOSED_EARLY, "a round closes with one replica missing")                               \
    X(STEP_COUNTED_AS_BEFORE,                                                                      \
      "a step that a feeder begins has as many reductions as the last one")                        \
    X(NEXT_STEP_PASSED, "a feeder that has done a step has passed the rounds of the next one too") \
    X(SLOT_GIVEN_TWICE, "a feeder offers a slot that still holds a step")                          \
    X(PART_NOT_AWAITED, "a manifest is asked for with the part of one replica missing")            \
    X(FORGOTTEN_EARLY, "older checkpoints are deleted before the new one is written")              \
    X(PASSED_UNHEARD, "a reducer ignores how many reductions a step had")                          \
    X(GENERATION_UNHEARD, "an actor is not told the generation at which its host came back")       \
    X(ABSENCE_COUNTS, "the time that an actor was away counts as silence of its peers")            \
    X(LIAR_WHILE_AWAY, "an actor that was away distrusts a peer before the leader can confirm it") \
    X(LEADER_IN_A_HURRY, "a leader that was away gives lost hosts no more time")                   \
    X(HOST_IN_A_HURRY, "a host that was away gives its leader, which is away, no more time")       \
    X(PARENT_IN_A_HURRY, "a parent that was away replaces processes that were away as long")       \
    X(LOST_IS_DEAD, "a process whose control connection was lost counts as dead after the grace")  \
    X(ENDED_IS_DEAD, "the end of a connection counts as a death that ends the run")                \
    X(LIAR_ENDS_LINK, "a HELLO that is refused ends the connection of the peer that it names")     \
    X(LIFE_UNCHECKED, "a HELLO may name a life that no clock can give")                            \
    X(USER_UNCHECKED, "a process of another user may take the place of a peer")                    \
    X(ROUND_UNCOUNTED, "a peer gets no more time on a link with long round trips")                 \
    X(GOODBYE_UNSAID, "an end that gives up a silent connection closes it without GOODBYE")        \
    X(PARTS_NOT_ROTATED, "all lanes that feed replicas of their own begin with the largest part")  \
    X(PIECES_IN_A_ROW, "a lane keeps pieces of a batch that follow one another")                   \
    X(ROWS_KNOWN_TWICE, "rows before a rewind count again in lanes whose rows are known")          \
    X(WINDOW_UNASKED, "a join that a feeder does not tell its window does not ask for it")         \
    X(STALE_UNSAID, "an actor that starts after the clock went back is ignored")                   \
    X(LAST_WORDS_UNHEARD, "models after the last step are not waited for once it is booked")       \
    X(LOST_AT_THE_END, "the loss of a host is ignored once the stream is done")                    \
    X(LOSS_BLAMES, "a row is blamed for a worker whose connection ended")                          \
    X(DEATH_NOT_AWAITED, "a row is issued again before the death of its last worker is counted")   \
    X(STALE_ENDPOINT_FINAL, "the answer of another listener at a stale endpoint ends the run")     \
    X(LISTENER_UNCHECKED, "a listener welcomes peers that mean another one")                       \
    X(EARLY_PEER_UNHEARD, "a peer that connects between bind and start is not passed on")          \
    X(SILENCE_BY_MESSAGES, "a peer whose message takes long to arrive counts as silent")           \
    X(HELLO_UNFOLLOWED, "a connector that waits for WELCOME does not ping")                        \
    X(PROGRESS_FORGOTTEN,                                                                          \
      "start_timeout passes while a host reports progress of opening its data")                    \
    X(SENT_NOT_KEPT, "a cache forgets a block when it was sent, not when the floor has passed it") \
    X(LOST_NOT_PASSED_ON, "a cache does not report tickets that its reader lost")                  \
    X(STORED_AND_MADE, "rows that are stored and were made as well enter a block twice")           \
    X(HELD_OF_ANOTHER_TICKET, "a reader leaves out the positions that another ticket left out")    \
    X(STALL_UNSEEN, "a host that stops reporting while it opens its data is waited for")           \
    X(SLOT_REFILLED_BEFORE_ITS_COPY, "a discarded step is over before its rows were copied")       \
    X(SLOT_REFILLED_BEFORE_ITS_READER, "a slot is filled again while a program reads its rows")    \
    X(COMMIT_BEFORE_THE_EVENT, "a step is committed once its work is on the device")               \
    X(FAILED_AT_ONCE, "a run fails before the steps that were reported as done are booked")        \
    X(FINISH_UNBOOKED, "a run ends before the last step that its programs ran is booked")          \
    X(FINISH_DIFFERS, "programs of several hosts may end their loops after different steps")       \
    X(END_TOLD_LATE, "a feeder is told the end of the run after it may begin")                     \
    X(HALTED_WHERE_STARTED, "a pause stops each feeder at the step that it has started")           \
    X(LIMIT_TOLD_ONCE, "a feeder whose host was away is not told whether the run is paused")       \
    X(REWIND_RESUMES, "a rewind ends a pause")                                                     \
    X(RESTART_ASKED_ONCE, "a restart that was requested is forgotten if its message is lost")      \
    X(REST_TOLD_LATE, "a feeder begins before it knows where its stream rests")                    \
    X(VALIDATION_STARTS_EARLY,                                                                     \
      "a validation begins before the last step of the first chain is done")                       \
    X(VALIDATED_TWICE, "a validation after a step that was validated is made again")               \
    X(EQUAL_IS_BETTER, "a validation with the best value so far is a better one")                  \
    X(PATIENCE_OFF_BY_ONE, "a run ends one validation without a better value too late")            \
    X(EMPTY_EPOCHS_COUNT, "no models are saved where epochs without a step lead to a validation")  \
    X(BEST_FORGOTTEN, "the checkpoint of the best value is deleted with those of its age")         \
    X(BEST_NOT_AWAITED, "the best checkpoint may go before the one that is better is written")     \
    X(GIVEN_UP_EARLY, "a checkpoint that would stay is given up for later ones")                   \
    X(BEST_GIVEN_UP, "the checkpoint of the best value is given up for later ones")                \
    X(HELD_STEP_AFTER_REWIND,                                                                      \
      "a feeder whose program ends an epoch keeps the steps that it holds")                        \
    X(RESIZED_TOO_EARLY, "a feeder changes the number of its slots while some hold steps")         \
    X(DEPTH_TOLD_ONCE, "a feeder whose host was away is not told how many slots are wanted")       \
    X(HANG_WHILE_PAUSED, "time in which a process was stopped counts as time that its work takes") \
    X(HANG_REPORTED_ONCE, "a hang is forgotten if its report to the leader is lost")               \
    X(LIFE_NOT_RAISED, "an actor that was made again is never told to run")                        \
    X(HOST_COUNTED_TWICE, "a process that returns by another connection counts as another one")    \
    X(ACTORS_COUNTED_TWICE, "the actors of a host that returns count as new ones")                 \
    X(EARLY_END_IGNORED, "a process that ended before it was connected is waited for")             \
    X(TABLE_OVERTAKES, "an announcement of endpoints that comes before the actors are made "       \
                       "counts")                                                                   \
    X(TOUCH_ANSWERED_EARLY, "a user is answered before what he asked for is done")                 \
    X(SCALE_TOLD_ONCE, "a host that was away is not told how many workers a user wants awake")     \
    X(ROSTER_CLOSED_EARLY, "the list of a launcher's processes is closed with one missing")        \
    X(RANK_GIVEN_TWICE, "a second process of a rank takes the place of the first")                 \
    X(RESUMED_ON_TWO_ROSTERS, "a process of an earlier roster is let into a run that was resumed") \
    X(SECOND_SIGNAL_ENDS, "a signal that a launcher repeats ends a process that drains")           \
    X(PUSH_APPLIED_TWICE, "a push that a replica repeats is applied once more")                    \
    X(STALENESS_OFF_BY_ONE, "a step computes on parameters that are older by one step")            \
    X(STEP_DEALT_TWICE, "a rewind deals steps that a replica holds to another one")                \
    X(STEP_OF_THE_DEAD_FORGOTTEN, "the steps of a dead replica are not asked for again")           \
    X(LATER_LIFE_GONE, "the word that a replica has died takes the steps of its next life")        \
    X(BIRTHS_IN_ANY_ORDER, "a replica may have been born before its last life")                    \
    X(LEAST_STEP_WITHOUT_SLOT, "replicas keep no slot for the least step that is not applied")     \
    X(PUSHED_STEP_TAKEN_AGAIN, "a replica takes rows of a step that it has pushed")

enum tnd_bug {
    TND_BUG_NONE,
#define TND_BUG_ENUM(name, text) TND_BUG_##name,
    TND_BUGS(TND_BUG_ENUM)
#undef TND_BUG_ENUM
};

#ifdef TND_SIMULATOR
#define TND_BUGS_BUILT_IN 1
extern enum tnd_bug tnd_bug_injected;
#define TND_BUG(name) (__builtin_expect(tnd_bug_injected == TND_BUG_##name, 0))
#else
#define TND_BUGS_BUILT_IN 0
#define TND_BUG(name) 0
#endif

#endif
