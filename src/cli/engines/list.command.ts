import type { Command } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import { allEngines } from '../../inference/engines/installed-engines.ts'
import { engineState } from '../../inference/engines/optional/installed-engine.ts'
import { enginesFolder, installLine, OPTIONAL_ENGINES } from '../../inference/engines/optional/optional-engine.ts'
import { jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

interface Row {
  readonly name: string
  readonly state: 'installed' | 'missing' | 'damaged'
  /** For optional engines: the size on disk, or the expected size before installation. */
  readonly size: number | null
  readonly where: string | null
  readonly install: string
  readonly experimental: boolean
}

/** Lists the engines, and the optional ones that are not engines themselves. */
const rowsOf = async ({ io }: Session): Promise<readonly Row[]> => {
  const folder = enginesFolder(io.env)
  const optional = await Promise.all(
    OPTIONAL_ENGINES.map(async (part): Promise<Row> => {
      const found = await engineState(part, folder)
      const expected = part.megabytes * 1e6
      return {
        name: part.names.join(', '),
        state: found.state,
        size: found.state === 'installed' ? found.bytes : expected,
        where: found.state === 'missing' ? null : found.folder,
        install: installLine(part),
        experimental: false,
      }
    }),
  )
  const known = new Set(OPTIONAL_ENGINES.flatMap(({ names }) => names))
  const others = (await allEngines(io.env)).filter(({ name }) => !known.has(name))
  const engines = others.map(
    ({ name, installed, where, install, experimental }): Row => ({
      name,
      state: installed ? 'installed' : 'missing',
      size: null,
      where,
      install,
      experimental,
    }),
  )
  const [llama, ...programs] = engines
  return [llama!, ...optional, ...programs]
}

export const define = (command: Command, session: Session): void => {
  command.addOption(jsonOption()).action(async ({ json }: { readonly json?: true }) => {
    const rows = await rowsOf(session)
    if (json) return session.out.json({ engines: rows })
    session.out.table(
      ['ENGINE', 'STATE', 'SIZE', 'LOCATION, OR HOW TO INSTALL'],
      rows.map(({ name, state, size, where, install, experimental }) => [
        name,
        experimental ? `${state}, experimental` : state,
        size === null ? null : state === 'installed' ? sizeWords(size) : `about ${size / 1e6} MB`,
        state === 'installed' ? where : install,
      ]),
    )
    session.out.line('')
    session.out.line(
      'Any OpenAI-compatible server can be an engine. Give its address: --engine http://127.0.0.1:8000/v1',
    )
  })
}
