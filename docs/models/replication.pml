/* The lease and the log of docs/replication.md: two brokers and a store that answers late.
 *
 * Every step is atomic and stands for one message: a call leaves, arrives at the store, or is
 * answered. Any call may be lost, answered late, or carried out again after it was given up. Time
 * passes between any two steps. README.md says what is left out, and how to run it.
 */

/* Parts of the model: the lease needs no log, and the log no time. Without either, both are there. */
#ifdef ONLY_LEASE
#define PARTS 0
#define TIME 1
#endif
#ifdef ONLY_LOG
#define BEATS 0
#define TIME 0   /* a broker may acquire at any moment */
#endif
#ifndef TIME
#define TIME 1
#endif

#define BROKERS 2
#define LEASE 3  /* of a broker's clock */
#ifndef MARGIN
#define MARGIN 1 /* by which the deadline is earlier than the lease */
#endif
#ifndef DRIFT
#define DRIFT 1  /* by which the clocks may differ over a lease */
#endif
#ifndef REIGNS
#define REIGNS 3 /* with the first, which has begun */
#endif
#ifndef PARTS
#define PARTS 3
#endif
#ifndef BEATS
#define BEATS 2  /* besides those that acquires write */
#endif
#ifndef LATE
#define LATE 1   /* tries that were given up may arrive */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

/* --- The store ------------------------------------------------------------------------------- */

byte leader_at = 0;             /* revision that wrote `leader`: the fence; 0: there is none */
byte leader = 0, attempt = 0;   /* who, and which of its acquires */
bool vacant = true;
byte beat_at = 0;
byte last = 0, oldest = 1;      /* in `tail`; its revision is `last`, which rises with each write */
byte part[PARTS + 2] = 0;       /* jobs that a part holds, a bit each; 0: there is no such part */
byte beats = 0, crashes = 0, reigns = 1;
byte drift = 0;                 /* by which the clock of broker 0 is ahead, since this reign began */

/* Of single steps. */
hidden byte seq, kept;
hidden mtype answer;

/* --- The brokers ----------------------------------------------------------------------------- */

mtype = { FOLLOWING, ACQUIRING, CATCHING_UP, ACTIVE, DEAD };
mtype = { IDLE, SENT, DONE, FENCED, FOREIGN };

typedef View { byte leader_at; bool vacant; byte beat_at };
typedef Call {
  mtype state = IDLE;  /* DONE, FENCED and FOREIGN are answers on their way */
  byte age             /* since it was sent, by the broker's clock; up to LEASE */
};
typedef Broker {
  mtype role = FOLLOWING;
  byte fence;
  byte left;           /* until its deadline */
  byte silence;        /* since a beat was received; up to LEASE */
  byte attempts;
  View seen;
  byte next = 1;       /* part to be read or appended next */
  byte read_to;
  byte jobs;           /* its state */
  bool serving;
  byte declared = 1;   /* the log is needed from there on, as committed by this broker */
  byte carrier;        /* its last committed part that holds all jobs; 0: none */

  Call look; View shown;
  Call acquire; View base; byte to, from, got;
  Call beat;
  Call append; byte bytes, need; bool carries;
  Call trim; byte below;
  Call release;

  /* A try that was given up, and arrives nevertheless. */
  mtype late; byte late_fence, late_seq, late_bytes, late_need, late_attempt; View late_base
};
mtype = { NONE, ACQUIRE, BEAT, APPEND, TRIM, RELEASE };
Broker b[BROKERS];

byte acknowledged = 0;   /* jobs whose producers were answered */
bool healed = false;     /* nothing is lost any more */
bool served = false;     /* since then */

#define MAY_ANSWER(i) (b[i].role == ACTIVE && b[i].serving && b[i].left > 0)

inline check_log() {
  /* No trim of what is needed: what `oldest` says is there, and holds all that was acknowledged. */
  kept = 0;
  seq = oldest;
  do
  :: seq <= last ->
     assert(part[seq] != 0);
     kept = kept | part[seq];
     seq++
  :: else -> break
  od;
  assert((kept & acknowledged) == acknowledged)
}

/* --- What arrives at the store ---------------------------------------------------------------- */

inline do_acquire(i, known, number, reply) {
  if
  :: leader_at == known.leader_at && (known.vacant || known.leader_at == 0 || beat_at == known.beat_at) &&
     !(leader == i && attempt == number) && reigns < REIGNS ->
     leader_at++;
     reigns++;
     leader = i;
     attempt = number;
     vacant = false;
     beat_at++;
     drift = 0
  :: else
  fi;
  if
  :: leader_at != 0 && leader == i && attempt == number && !vacant -> reply = DONE
  :: else -> reply = FENCED
  fi
}

inline do_beat(writer, reply) {
  if
#ifdef BEAT_WITHOUT_FENCE
  :: true ->
#else
  :: leader_at == writer ->
#endif
     beat_at++;
     reply = DONE
  :: else -> reply = FENCED
  fi
}

/* The part before `seq` is the one that the writer knows as the end of the log. */
inline do_append(writer, seqno, content, needed, reply) {
  if
  :: leader_at != writer -> reply = FENCED
  :: leader_at == writer && last == seqno - 1 ->
     last = seqno;
     part[seqno] = content;
     oldest = needed;
     reply = DONE
  :: leader_at == writer && last != seqno - 1 ->
     if
     :: last >= seqno && part[seqno] == content -> reply = DONE
     :: else -> reply = FOREIGN
     fi
  fi
}

inline do_trim(writer, limit, reply) {
  if
#ifdef TRIM_WITHOUT_FENCE
  :: true ->
     assert(leader_at == writer);  /* a broker that leads no more changes nothing */
#else
  :: leader_at == writer ->
#endif
     seq = 1;
     do
     :: seq < limit -> part[seq] = 0; seq++
     :: else -> break
     od;
     reply = DONE
  :: else -> reply = FENCED
  fi
}

inline do_release(writer, reply) {
  if
  :: leader_at == writer -> leader_at++; vacant = true
  :: else
  fi;
  reply = DONE
}

/* The try is lost, or arrives later; another one leaves. */
inline give_up(kind) {
  if
  :: true  /* lost */
  :: b[i].late == NONE && LATE -> b[i].late = kind
  fi
}

inline die(how) {
  b[i].role = how;
  b[i].serving = false;
  b[i].left = 0;
  b[i].fence = 0;
  b[i].look.state = IDLE; b[i].look.age = 0;
  b[i].acquire.state = IDLE; b[i].acquire.age = 0;
  b[i].beat.state = IDLE; b[i].beat.age = 0;
  b[i].append.state = IDLE;
  b[i].trim.state = IDLE;
  b[i].release.state = IDLE;
  b[i].shown.leader_at = 0; b[i].shown.vacant = 0; b[i].shown.beat_at = 0;
  b[i].base.leader_at = 0; b[i].base.vacant = 0; b[i].base.beat_at = 0;
  b[i].to = 0; b[i].from = 0; b[i].got = 0; b[i].bytes = 0; b[i].need = 0; b[i].carries = false; b[i].below = 0;
  b[i].seen.leader_at = 0; b[i].seen.vacant = 0; b[i].seen.beat_at = 0;
  b[i].silence = 0; b[i].read_to = 0; b[i].jobs = 0; b[i].carrier = 0; b[i].declared = 1;
  /* A process that comes back reads the log from its beginning. */
  b[i].next = oldest
}

inline note_reign_and_beat() {
  /* A later look is never older than one before. */
  if
  :: b[i].shown.leader_at > b[i].seen.leader_at || b[i].shown.beat_at > b[i].seen.beat_at ->
     b[i].silence = 0;
     b[i].seen.leader_at = b[i].shown.leader_at;
     b[i].seen.vacant = b[i].shown.vacant;
     b[i].seen.beat_at = b[i].shown.beat_at
  :: else
  fi
}

/* --- A broker, and what the network does to its calls ------------------------------------------ */

proctype Run(byte i) {
end:
  do
  /* Follows: a look shows what is there, and arrives later. */
  :: d_step { b[i].role == FOLLOWING && b[i].look.state == IDLE &&
       (b[i].seen.leader_at != leader_at || b[i].seen.beat_at != beat_at || leader_at == 0) ->
       b[i].look.state = DONE;
       b[i].shown.leader_at = leader_at;
       b[i].shown.vacant = vacant;
       b[i].shown.beat_at = beat_at }
  :: d_step { b[i].look.state == DONE ->
       b[i].look.state = IDLE;
       if
       :: b[i].role == FOLLOWING -> note_reign_and_beat()
       :: else
       fi;
       b[i].shown.leader_at = 0; b[i].shown.vacant = 0; b[i].shown.beat_at = 0 }
  :: d_step { (b[i].role == FOLLOWING && b[i].next <= last) ||
              (b[i].role == CATCHING_UP && b[i].next <= b[i].read_to) ->
       if
       :: b[i].next < oldest -> die(FOLLOWING)  /* trimmed: it starts again */
       :: else ->
          assert(part[b[i].next] != 0);
          b[i].jobs = b[i].jobs | part[b[i].next];
          b[i].next++
       fi }

  /* Acquires when no beat was received for a lease. */
  :: d_step { b[i].role == FOLLOWING && b[i].attempts < REIGNS && reigns < REIGNS &&
       (b[i].seen.leader_at == 0 || b[i].seen.vacant || b[i].silence >= LEASE || !TIME) ->
       b[i].role = ACQUIRING;
       b[i].attempts++;
       b[i].base.leader_at = b[i].seen.leader_at;
       b[i].base.vacant = b[i].seen.vacant;
       b[i].base.beat_at = b[i].seen.beat_at;
       b[i].acquire.state = SENT;
       b[i].acquire.age = 0 }
  :: d_step { b[i].acquire.state == SENT ->
       do_acquire(i, b[i].base, b[i].attempts, answer);
       b[i].acquire.state = answer;
       b[i].to = last;
       b[i].from = oldest;
       b[i].got = leader_at }
  :: atomic { b[i].acquire.state != IDLE && !healed ->
       b[i].acquire.state = SENT; b[i].to = 0; b[i].from = 0; b[i].got = 0;
       give_up(ACQUIRE);
       if
       :: b[i].late == ACQUIRE && b[i].late_attempt == 0 ->
          b[i].late_attempt = b[i].attempts;
          b[i].late_base.leader_at = b[i].base.leader_at;
          b[i].late_base.vacant = b[i].base.vacant;
          b[i].late_base.beat_at = b[i].base.beat_at
       :: else
       fi }
  :: d_step { b[i].acquire.state == DONE ->
       b[i].acquire.state = IDLE;
       b[i].role = CATCHING_UP;
       b[i].fence = b[i].got;
       b[i].seen.leader_at = 0; b[i].seen.vacant = 0; b[i].seen.beat_at = 0; b[i].silence = 0;
       b[i].base.leader_at = 0; b[i].base.vacant = 0; b[i].base.beat_at = 0;
#ifdef ACQUIRE_WITHOUT_TAIL
       b[i].read_to = b[i].next - 1;
#else
       b[i].read_to = b[i].to;
#endif
       b[i].declared = b[i].from;
#ifdef DEADLINE_FROM_ANSWER
       b[i].acquire.age = 0;
#endif
       b[i].left = (TIME && b[i].acquire.age < LEASE - MARGIN -> LEASE - MARGIN - b[i].acquire.age : 0);
       b[i].acquire.age = 0; b[i].to = 0; b[i].from = 0; b[i].got = 0 }
  :: d_step { b[i].acquire.state == FENCED ->
       b[i].acquire.state = IDLE; b[i].acquire.age = 0;
       b[i].to = 0; b[i].from = 0; b[i].got = 0;
       b[i].base.leader_at = 0; b[i].base.vacant = 0; b[i].base.beat_at = 0;
#ifndef FENCED_ACQUIRE_WAITS
       b[i].role = FOLLOWING
#endif
     }

  /* The state is whole: nothing that was acknowledged is missing. */
  :: d_step { b[i].role == CATCHING_UP && b[i].next > b[i].read_to ->
       b[i].role = ACTIVE;
       b[i].read_to = 0;
       b[i].serving = (PARTS == 0);
       if
       :: leader_at == b[i].fence -> assert((b[i].jobs & acknowledged) == acknowledged)
       :: else
       fi }

  /* Beats. The answer says when the try that worked was sent. */
  :: d_step { b[i].fence != 0 && b[i].beat.state == IDLE && beats < BEATS && b[i].left < LEASE - MARGIN ->
       beats++;
       b[i].beat.state = SENT;
       b[i].beat.age = 0 }
  :: d_step { b[i].beat.state == SENT -> do_beat(b[i].fence, answer); b[i].beat.state = answer }
  :: atomic { (b[i].beat.state == SENT || b[i].beat.state == DONE) && !healed && beats < BEATS ->
       beats++;
       b[i].beat.state = SENT;
       b[i].beat.age = 0;
       give_up(BEAT);
       if
       :: b[i].late == BEAT && b[i].late_fence == 0 -> b[i].late_fence = b[i].fence
       :: else
       fi }
  :: d_step { b[i].beat.state == DONE ->
       b[i].beat.state = IDLE;
#ifdef DEADLINE_FROM_ANSWER
       b[i].beat.age = 0;
#endif
       if
       :: b[i].beat.age < LEASE - MARGIN && LEASE - MARGIN - b[i].beat.age > b[i].left ->
          b[i].left = LEASE - MARGIN - b[i].beat.age
       :: else
       fi;
       b[i].beat.age = 0 }
  :: d_step { b[i].beat.state == FENCED || b[i].append.state == FENCED || b[i].trim.state == FENCED ->
       die(FOLLOWING) }

  /* Appends: a new job, and what is carried out of the oldest part. */
  :: atomic { b[i].role == ACTIVE && b[i].append.state == IDLE && b[i].release.state == IDLE &&
       b[i].next <= PARTS ->
       b[i].append.state = SENT;
       b[i].need = b[i].declared;
       b[i].bytes = 1 << b[i].next;
       if
       :: true
       :: b[i].carries = true; b[i].bytes = b[i].bytes | b[i].jobs
       fi;
       if
       :: true
       :: b[i].carrier > b[i].declared -> b[i].need = b[i].carrier
       fi }
#ifdef APPEND_OTHER_BYTES
  :: d_step { b[i].append.state == SENT && b[i].role == ACTIVE && (b[i].bytes & 1) == 0 ->
       do_append(b[i].fence, b[i].next, b[i].bytes, b[i].need, answer);
       b[i].bytes = b[i].bytes | 1 }
#endif
  :: d_step { b[i].append.state == SENT ->
       do_append(b[i].fence, b[i].next, b[i].bytes, b[i].need, answer);
       check_log();
       b[i].append.state = answer }
  :: atomic { (b[i].append.state == SENT || b[i].append.state == DONE) && !healed ->
       b[i].append.state = SENT;
       give_up(APPEND);
       if
       :: b[i].late == APPEND && b[i].late_fence == 0 ->
          b[i].late_fence = b[i].fence;
          b[i].late_seq = b[i].next;
          b[i].late_bytes = b[i].bytes;
          b[i].late_need = b[i].need
       :: else
       fi }
  :: d_step { b[i].append.state == FOREIGN -> assert(false) /* something else writes to this log */ }
  :: d_step { b[i].append.state == DONE ->
       b[i].append.state = IDLE;
       b[i].jobs = b[i].jobs | b[i].bytes;
       acknowledged = acknowledged | b[i].bytes;
       b[i].declared = b[i].need;
       if :: b[i].carries -> b[i].carrier = b[i].next :: else fi;
       b[i].carries = false;
       b[i].next++;
       b[i].bytes = 0;
       b[i].need = 0;
       b[i].serving = true;
       check_log() }
#ifdef LIVE
  :: d_step { b[i].role == ACTIVE && b[i].serving && (b[i].left > 0 || !TIME) && healed && !served ->
       served = true }
#endif

  /* Trims below what is declared. */
  :: d_step { b[i].role == ACTIVE && b[i].trim.state == IDLE && b[i].release.state == IDLE &&
       b[i].declared > 1 && part[1] != 0 ->
       b[i].trim.state = SENT;
       b[i].below = b[i].declared }
#ifdef TRIM_TOO_EARLY
  :: d_step { b[i].role == ACTIVE && b[i].trim.state == IDLE && b[i].append.state == SENT &&
       b[i].need > b[i].declared ->
       b[i].trim.state = SENT;
       b[i].below = b[i].need }
#endif
  :: d_step { b[i].trim.state == SENT ->
       do_trim(b[i].fence, b[i].below, answer);
       b[i].trim.state = (answer == FENCED -> FENCED : IDLE);
       b[i].below = 0;
       check_log() }
  :: atomic { b[i].trim.state == SENT && !healed && b[i].late == NONE && LATE ->
       b[i].late = TRIM;
       b[i].late_fence = b[i].fence;
       b[i].late_seq = b[i].below;
       b[i].trim.state = IDLE;
       b[i].below = 0 }

  /* Leaves: nothing is under way, and nothing is sent after it. */
  :: d_step { b[i].role == ACTIVE && b[i].append.state == IDLE && b[i].release.state == IDLE && !healed ->
       b[i].release.state = SENT;
       b[i].serving = false }
  :: d_step { b[i].release.state == SENT ->
       do_release(b[i].fence, answer);
       die(FOLLOWING) }

  /* A process ends at any moment; what it sent may arrive later. */
  :: d_step { !healed && crashes < CRASHES && b[i].role != DEAD -> crashes++; die(DEAD) }
  :: d_step { b[i].role == DEAD && !healed -> die(FOLLOWING) }

  /* Tries that were given up. */
  :: d_step { b[i].late != NONE ->
       if
       :: b[i].late == ACQUIRE -> do_acquire(i, b[i].late_base, b[i].late_attempt, answer)
       :: b[i].late == BEAT -> do_beat(b[i].late_fence, answer)
       :: b[i].late == APPEND ->
          do_append(b[i].late_fence, b[i].late_seq, b[i].late_bytes, b[i].late_need, answer)
       :: b[i].late == TRIM -> do_trim(b[i].late_fence, b[i].late_seq, answer)
       fi;
       check_log();
       b[i].late = NONE;
       b[i].late_fence = 0; b[i].late_seq = 0; b[i].late_bytes = 0; b[i].late_need = 0;
       b[i].late_attempt = 0;
       b[i].late_base.leader_at = 0; b[i].late_base.vacant = 0; b[i].late_base.beat_at = 0;
     }
  od
}

/* --- Time -------------------------------------------------------------------------------------- */

inline advance(i) {
  if :: b[i].left > 0 -> b[i].left-- :: else fi;
  if :: b[i].role == FOLLOWING && b[i].seen.leader_at != 0 && !b[i].seen.vacant && b[i].silence < LEASE ->
        b[i].silence++
     :: else
  fi;
  if :: b[i].acquire.state != IDLE && b[i].acquire.age < LEASE -> b[i].acquire.age++ :: else fi;
  if :: b[i].beat.state != IDLE && b[i].beat.age < LEASE -> b[i].beat.age++ :: else fi
}

#define COUNTS(i) (TIME && (b[i].left > 0 || (b[i].acquire.state != IDLE && b[i].acquire.age < LEASE) || \
  (b[i].beat.state != IDLE && b[i].beat.age < LEASE) || \
  (b[i].role == FOLLOWING && b[i].seen.leader_at != 0 && !b[i].seen.vacant && b[i].silence < LEASE)))

proctype Clocks() {
end:
  do
  :: d_step { COUNTS(0) || COUNTS(1) -> advance(0); advance(1) }
  :: d_step { drift < DRIFT && COUNTS(0) -> drift++; advance(0) }
  :: d_step { drift > 0 && COUNTS(1) -> drift--; advance(1) }
  od
}

/* Broker 0 leads, and its first part is acknowledged. */
init {
  d_step {
    b[0].late = NONE;
    b[1].late = NONE;
    leader_at = 1; attempt = 1; vacant = false; beat_at = 1;
    b[0].role = ACTIVE; b[0].serving = true; b[0].attempts = 1; b[0].fence = 1;
    b[0].left = (TIME -> LEASE - MARGIN : 0);
    if
    :: PARTS > 0 ->
       last = 1; part[1] = 2; acknowledged = 2;
       b[0].next = 2; b[0].jobs = 2
    :: else
    fi
  }
  run Run(0);
  run Run(1);
  if :: TIME -> run Clocks() :: else fi
}

/* Never two brokers that may answer. */
active proctype OneAnswers() {
end:
  d_step { MAY_ANSWER(0) && MAY_ANSWER(1) -> assert(false) }
}

#ifdef LIVE
/* A broker that can reach the store becomes active: from some moment on nothing is lost and nobody
 * dies, and when nothing more can happen, somebody has served. */
#define AT_LIMITS ((PARTS > 0 && last >= PARTS) || (TIME && beats >= BEATS) || \
  (reigns >= REIGNS && b[leader].fence != leader_at) || b[0].attempts >= REIGNS || b[1].attempts >= REIGNS)

active proctype Healing() {
  d_step { b[0].role != DEAD || b[1].role != DEAD -> healed = true }
  timeout -> assert(served || AT_LIMITS)
}
#endif
