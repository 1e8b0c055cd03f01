/*
 * The core of the protocol on one master, a second time and for another checker:
 * lock, unlock, cancel and renew with the hand-over, for processes of one caller
 * each, by a network that delays and loses. README.md beside this says what it
 * is for. Each name is that of the script or rule that it stands for.
 *
 *   spin -a master.pml && gcc -O2 -o pan pan.c && ./pan
 *
 * -DNO_ID_CHECK, -DCOUNT_FROM_ANSWER, -DNO_LATE_CANCEL take a guard out.
 */

#ifndef PROCS
#define PROCS 2
#endif
#define SENDS 2
#define TTL 2
#define WINDOW 1
#define NOBODY 255

/* What is under way to or from a process: one request with its answer, one
 * cancel, one grant. Ages are in ticks. */
mtype = { nothing, lock, granted, queued, unlock, released, renew, renewed, lost }

mtype under[PROCS]  = nothing;   /* the request, then its answer */
byte age[PROCS];                 /* since it was sent */
bool cancels[PROCS];             /* a cancel is under way */
bool pushed[PROCS];              /* a grant is under way */
byte pushedAge[PROCS];           /* since it was published */
byte pushedToken[PROCS];
byte token[PROCS];               /* of an answer */

/* The server. A process has one id: rounds end before it asks again. */
byte L = NOBODY;
byte PX;
byte F;
byte Q[PROCS] = NOBODY;
byte waiting;

/* The processes, as they see themselves. */
mtype:phase = { idle, asks, waits, holds, leaves, gone };
mtype:phase phase[PROCS] = idle;
byte left[PROCS];                /* ticks to its deadline */
byte since[PROCS];               /* ticks since its first request */
byte sends[PROCS];                /* locks sent */
byte newest;                     /* token used */
byte losses;

#define believes(p) (phase[p] == holds && left[p] > 0)

inline enqueue(p) {
    bool there = false;
    byte k = 0;
    do
    :: k < waiting -> there = there || Q[k] == p; k++
    :: else -> break
    od;
    if
    :: !there -> Q[waiting] = p; waiting++
    :: else
    fi;
    k = 0; there = false
}

inline remove(p) {
    byte from = 0;
    byte to = 0;
    do
    :: from < waiting ->
        if
        :: Q[from] != p -> Q[to] = Q[from]; to++
        :: else
        fi;
        from++
    :: else -> break
    od;
    waiting = to;
    do
    :: to < PROCS -> Q[to] = NOBODY; to++
    :: else -> break
    od;
    from = 0; to = 0
}

/* part/hand_over.lua; all processes listen. */
inline handOver() {
    if
    :: waiting == 0 -> L = NOBODY; PX = 0
    :: else ->
        L = Q[0]; PX = WINDOW; F++;
        remove(L);
        pushed[L] = true; pushedAge[L] = 0; pushedToken[L] = F
    fi
}

/* A request reaches the server. */
inline serve(p) {
    if
    :: under[p] == lock && L == p ->
        PX = TTL; F++; token[p] = F; under[p] = granted
    :: under[p] == lock && L == NOBODY && waiting == 0 ->
        L = p; PX = TTL; F++; token[p] = F; under[p] = granted
    :: under[p] == lock && L != p && !(L == NOBODY && waiting == 0) ->
        enqueue(p); under[p] = queued;
        if
        :: L == NOBODY -> handOver()
        :: else
        fi
    :: under[p] == unlock ->
#ifdef NO_ID_CHECK
        if
        :: L != NOBODY -> handOver()
#else
        if
        :: L == p -> handOver()
#endif
        :: else ->
            if
            :: L == NOBODY && waiting > 0 -> handOver()
            :: else
            fi
        fi;
        under[p] = released
    :: under[p] == renew && L == p -> PX = TTL; under[p] = renewed
    :: under[p] == renew && L != p -> under[p] = lost
    fi
}

inline cancelRuns(p) {
    cancels[p] = false;
    remove(p);
    if
    :: L == p || L == NOBODY -> handOver()
    :: else
    fi
}

inline begin(p, life, passed, got) {
    if
    :: passed >= life -> /* over on arrival: ask again */
        if
        :: under[p] == nothing && sends[p] < SENDS -> sends[p]++; under[p] = lock; age[p] = 0
        :: else
        fi
    :: else ->
        phase[p] = holds; left[p] = life - passed;
        assert(got > newest); /* S2 */
        newest = got
    fi
}

/* An answer is heard. */
inline hear(p) {
    mtype word = under[p];
    under[p] = nothing;
    if
    :: word == granted && (phase[p] == asks || phase[p] == waits) ->
#ifdef COUNT_FROM_ANSWER
        begin(p, TTL, 0, token[p])
#else
        begin(p, TTL, age[p], token[p])
#endif
    :: word == granted && phase[p] == holds && left[p] > 0 ->
        if
        :: TTL - age[p] > left[p] -> left[p] = TTL - age[p]
        :: else
        fi
    :: word == queued && phase[p] == asks -> phase[p] = waits
    :: (word == granted || word == queued) && (phase[p] == idle || phase[p] == gone) ->
#ifndef NO_LATE_CANCEL
        cancels[p] = true /* given up before this came: rule 3 */
#else
        skip
#endif
    :: word == released && phase[p] == leaves -> phase[p] = gone
    :: word == renewed && phase[p] == holds && left[p] > 0 ->
        if
        :: TTL - age[p] > left[p] -> left[p] = TTL - age[p]
        :: else
        fi
    :: word == lost && phase[p] == holds -> phase[p] = gone
    :: else
    fi;
    token[p] = 0; age[p] = 0; word = nothing
}

/* A pushed grant is heard: its life began between its publication and the first
 * request for the id, of which the later is known here. */
inline hearPush(p) {
    pushed[p] = false;
    if
    :: phase[p] == asks || phase[p] == waits ->
        begin(p, WINDOW, since[p], pushedToken[p])
    :: phase[p] == idle || phase[p] == gone -> cancels[p] = true
    :: else
    fi;
    pushedAge[p] = 0; pushedToken[p] = 0
}

inline older(x) {
    if
    :: x < TTL -> x++
    :: else
    fi
}

inline tick() {
    byte i = 0;
    if
    :: PX == 1 -> PX = 0; L = NOBODY
    :: PX > 1 -> PX--
    :: else
    fi;
    do
    :: i < PROCS ->
        if
        :: left[i] > 0 -> left[i]--
        :: else
        fi;
        if
        :: under[i] != nothing -> older(age[i])
        :: else
        fi;
        if
        :: pushed[i] -> older(pushedAge[i])
        :: else
        fi;
        if
        :: phase[i] == asks || phase[i] == waits -> older(since[i])
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

proctype process(byte p) {
    do
    /* a caller comes, gives up, releases; requests are sent again */
    :: atomic { phase[p] == idle ->
        sends[p]++; phase[p] = asks; since[p] = 0; under[p] = lock; age[p] = 0 }
    :: atomic { (phase[p] == asks || phase[p] == waits) ->
        phase[p] = gone; cancels[p] = true }
    :: atomic { (phase[p] == asks || phase[p] == waits) && under[p] == nothing && sends[p] < SENDS ->
        sends[p]++; under[p] = lock; age[p] = 0 }
    :: atomic { phase[p] == holds && left[p] > 0 && under[p] == nothing -> under[p] = renew; age[p] = 0 }
    :: atomic { phase[p] == holds && (under[p] == nothing || under[p] == renewed || under[p] == granted || under[p] == queued) ->
        phase[p] = leaves; left[p] = 0; under[p] = unlock; age[p] = 0 }
    /* the network */
    :: atomic { under[p] == lock || under[p] == unlock || under[p] == renew -> serve(p) }
    :: atomic { under[p] == granted || under[p] == queued || under[p] == released || under[p] == renewed || under[p] == lost -> hear(p) }
    :: atomic { cancels[p] -> cancelRuns(p) }
    :: atomic { pushed[p] -> hearPush(p) }
    :: atomic { pushed[p] && losses < 1 -> losses++; pushed[p] = false; pushedAge[p] = 0; pushedToken[p] = 0 }
    :: atomic { under[p] == queued && losses < 1 -> losses++; under[p] = nothing; age[p] = 0;
        if
        :: phase[p] == gone -> cancels[p] = true /* it may have run after its cancel */
        :: else
        fi }
    od
}

#define quiet(p) ((phase[p] == idle || phase[p] == gone) && under[p] == nothing && !cancels[p] && !pushed[p])

/* Time passes; and what must never be. */
proctype clock() {
    do
    :: atomic { tick() }
#if PROCS == 2
    :: atomic { believes(0) && believes(1) -> assert(false) }                  /* S1 */
    :: atomic { believes(0) && (L != 0 || PX < left[0]) -> assert(false) }     /* and why */
    :: atomic { believes(1) && (L != 1 || PX < left[1]) -> assert(false) }
    :: atomic { quiet(0) && quiet(1) && PX > WINDOW -> assert(false) }           /* L2: what is left of a lost push ends by its window */
#else
    :: atomic { believes(0) && believes(1) || believes(1) && believes(2) || believes(0) && believes(2) -> assert(false) }
    :: atomic { quiet(0) && quiet(1) && quiet(2) && PX > WINDOW -> assert(false) }
#endif
    od
}

init {
    atomic {
        run process(0);
        run process(1);
#if PROCS == 3
        run process(2);
#endif
        run clock()
    }
}
