"""How demand travels: the backpressure contract. Read this page first.

Rx pushes: items flow down by `on_next`, and nothing in it can say "wait". Here **demand flows up by the scheduler**,
the one thing that Rx hands from the subscriber to the source, through stock operators too. A `FlowScheduler` wraps any
scheduler and carries two things: the `Demand` of the boundary below, and the `Scope` of the subscription.

    source ──chunk──▶ stage ──event──▶ stock operators ──▶ boundary (buffer, iterate, sink)
      ▲                 ▲                                      │
      └──── waits ──────┴───── parks ────── Demand ◀── open ───┘

1. A `Demand` is a gate, one per boundary, used on its loop's thread only. Where none arrives, demand is always open.
2. A boundary opens its gate while a pull waits (a buffer: while it has room) and closes it as soon as it has what it
   asked for. Only the boundary opens and closes.
3. Every emitter reads `demand.is_open` immediately before each `on_next`. Completion and error need no demand.
4. A `Stage` that finds the gate closed keeps what is left of its list and parks.
5. Stages have tickets, taken at subscribe. Rx subscribes from the sink up: a lower ticket is further down.
6. Opening drains: the parked stage with the lowest ticket first; when none is parked, the source that waited longest.
7. A source waits for the gate before it reads and again before it emits: at most one chunk is in hand.
8. Async sources are woken one at a time; one that goes on passes the wake on, one that finds the gate closed again
   returns to the head. A synchronous source gives way after one item when another waits.
9. Steps of sources, timers and drains are *turns*, one at a time for each demand. `open()` inside a turn only sets the
   flag, the turn's end drains: signals are serial and the stack stays flat. What Rx schedules for now (`just`, `of`)
   and the begin of a synchronous source take the next turn, and until then the gate reads as closed: an inner stream
   of `flat_map` sends before the outer one goes on.
10. A stage called while parked has an upstream that cannot pause: it passes on what it kept and the new items, in
    order, without asking. The boundary below decides.
11. A boundary without a queue keeps what came while closed, up to `Limits.max_unapplied_events`, then fails.
12. A buffer closes its upstream's gate when it is full, and opens it at low water.
13. Completion and error wait in a slot behind the items. `Cancelled` overtakes them: what is held is discarded.
14. After every `on_next` the emitter looks at its own `stopped`: the call may have ended it.
15. What `on_next` raises ends the root that called (source step, timer, drain): upstream is disposed, `on_error` goes
    down once. It never leaves `open()` into the consumer.
16. Nothing is emitted inside `subscribe`: the first emission comes a turn later.
17. Dispose stops, drops, unparks, cancels timers, disposes upstream; the boundary then releases its gate for ever.
18. A timer that fires while the gate is closed parks its stage.
19. A waiting source or pull that is cancelled takes nothing with it: the wake is passed on, the item stays.
20. Turns, tasks and timers run in the subscriber's context (`contextvars`).
21. `watch` reports opening and closing, for clocks that count only open time.
"""

from rxstream.flow.demand import Demand
from rxstream.flow.scheduler import FlowScheduler
from rxstream.flow.scope import Scope
from rxstream.flow.stage import Stage, stage_operator

__all__ = ("Demand", "FlowScheduler", "Scope", "Stage", "stage_operator")
