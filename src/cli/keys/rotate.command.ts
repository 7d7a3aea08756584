import { type Command, InvalidArgumentError, Option } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

interface RotateOptions extends DataOptions {
  readonly overlap: number
}

const MAX_HOURS = 720

/** `24h` -> 24, `7d` -> 168 */
const parseHours = (text: string): number => {
  const [, count, unit] = /^(\d{1,3})([hd])$/.exec(text) ?? []
  const hours = Number(count) * (unit === 'd' ? 24 : 1)
  if (hours <= MAX_HOURS) return hours
  throw new InvalidArgumentError(`It must be hours or days from 0h to ${MAX_HOURS}h, such as 24h or 7d.`)
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<key_id>', 'id of the key, as svc keys list shows it')
    .addOption(
      new Option('--overlap <time>', 'how long the old key still works, such as 24h or 7d')
        .argParser(parseHours)
        .default(24, '24h'),
    )
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (keyId: string, { overlap, json, apiBase }: RotateOptions) => {
      const connection = await session.signedIn({ apiBase })
      const params = { path: { key_id: keyId } }
      const key = await connection.ask((client) =>
        client.POST('/api/v1/keys/{key_id}/rotate', { params, body: { overlap_hours: overlap } }),
      )
      if (json) return session.out.json(key)
      session.out.fields([
        ['Key', key.api_key],
        ['Id', key.id],
        ['Name', key.name],
        ['Scopes', key.scopes.join(', ')],
        ['Organization', key.org_id],
        ['Expires', key.expires_at ?? 'never'],
        ['Replaces', key.replaces],
      ])
      session.out.note('Save the key now: it is not shown again.')
      const end = overlap === 0 ? 'no longer works' : `works for ${overlap} h more`
      session.out.note(`The old key, and what was signed in with it, ${end}.`)
    })
}
