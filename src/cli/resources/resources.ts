import { type CommandEntry, type CommandGroup, entry } from '../command.ts'
import { analytics } from './analytics.ts'
import { approvals } from './approvals.ts'
import { audit } from './audit.ts'
import { deployments } from './deployments.ts'
import { devices } from './devices.ts'
import { experiments } from './experiments.ts'
import { federations } from './federations.ts'
import { groups } from './groups.ts'
import { integrations } from './integrations.ts'
import { jobActions, stopJob } from './jobs.ts'
import { keys } from './keys.ts'
import { org } from './org.ts'
import { policies } from './policies.ts'
import type { Action, Resource } from './resource.ts'
import { rollouts } from './rollouts.ts'
import { rounds, trainRoundActions } from './rounds.ts'
import { team } from './team.ts'

/** All resources that are defined by a table of commands. To add one, add a file and a line here. */
const RESOURCES: readonly Resource[] = [
  devices,
  groups,
  rounds,
  rollouts,
  deployments,
  experiments,
  policies,
  analytics,
]

const entryOf = (action: Action | CommandEntry): CommandEntry =>
  'load' in action
    ? action
    : entry(action.name, action.summary, async () => (await import('./define-action.ts')).defineAction(action))

const groupOf = ({ name, summary, actions }: Resource): CommandGroup => ({
  name,
  summary,
  commands: actions.map(entryOf),
})

export const RESOURCE_COMMANDS: readonly CommandGroup[] = RESOURCES.map(groupOf)

/** Listed at separate positions in `svc --help`. */
export const FEDERATION_COMMANDS: CommandGroup = groupOf(federations)
export const APPROVAL_COMMANDS: CommandGroup = groupOf(approvals)
export const AUDIT_COMMANDS: CommandGroup = groupOf(audit)
export const INTEGRATION_COMMANDS: CommandGroup = groupOf(integrations)

export const ORG_COMMANDS: readonly CommandEntry[] = groupOf(org).commands
export const KEY_COMMANDS: CommandGroup = groupOf(keys)
export const TEAM_COMMANDS: CommandGroup = groupOf(team)

/** The commands of `svc train` that are defined by a table; `start` and `status` are listed before them. */
const trainActions = [stopJob, ...trainRoundActions, ...jobActions]
export const TRAIN_COMMANDS: readonly CommandEntry[] = trainActions.map(entryOf)

/** All actions of the tables, with their command group. */
export const ACTIONS: readonly { readonly under: string; readonly action: Action }[] = [
  ...RESOURCES,
  federations,
  integrations,
  team,
  audit,
  approvals,
  org,
  keys,
  { name: 'train', actions: trainActions },
].flatMap(({ name, actions }) => actions.flatMap((action) => ('request' in action ? [{ under: name, action }] : [])))
