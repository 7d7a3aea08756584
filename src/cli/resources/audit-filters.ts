import { AUDIT_RESULTS } from '../../domain/audit.ts'
import { type ActionOption, option } from './resource.ts'

/** Filters shared by the list and the export. */
export const AUDIT_FILTERS: readonly ActionOption[] = [
  option('--actor <actor>', 'a person, key, or device, by id or name', 'actor'),
  option('--action <operation>', 'what was done, such as createKey', 'action'),
  option('--object <object>', 'what was changed, by id or name', 'object'),
  option('--result <result>', 'ok, refused, or failed', 'result', { choices: AUDIT_RESULTS }),
  option('--since <time>', 'at or after this time, such as 2026-01-31T12:00:00Z', 'since'),
  option('--until <time>', 'before this time', 'until'),
  option('--org <org_id>', 'one organization, for keys that see several', 'org_id'),
]
