"""Events about the simulated world: what was done to it, so that a simulation can be read and run again."""

from events.schema import declare

declare(
    "simulation.started",
    "scenario program? policy_version?",
    meaning="a simulation begins; scenario: its inputs, whole; which version decides in it",
)
declare("simulation.command", "command", meaning="a step of the command list, or its consequence, is carried out")
declare("simulation.watchdog_fired", "node", meaning="a node lost its power because nobody fed its watchdog")
declare("simulation.round_skipped", "part", meaning="managers (crm) or agents (lrm) miss a round on purpose")
declare("simulation.overcommitted", "what name", meaning="more cpu or memory is used than there is")
declare("simulation.aborted", "error", meaning="the simulation could not go on")
declare("simulation.ended", meaning="the simulation is over")
