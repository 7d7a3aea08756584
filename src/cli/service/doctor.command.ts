import type { Command } from 'commander'
import { ExitCode } from '../exit-code.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { allFindings } from './doctor-checks.ts'

const MARKS = { ok: '✓', warn: '!', fail: '✗' } as const

export const define = (command: Command, session: Session): void => {
  command
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async ({ json, apiBase }: DataOptions) => {
      const { out } = session
      const findings = await allFindings(session, apiBase)
      const failed = findings.filter(({ state }) => state === 'fail').length
      const warned = findings.filter(({ state }) => state === 'warn').length
      if (json) out.json({ ok: failed === 0, checks: findings })
      else {
        const width = Math.max(...findings.map(({ check }) => check.length))
        for (const { check, state, found, advice } of findings) {
          out.line(`${MARKS[state]} ${state.padEnd(4)}  ${check.padEnd(width)}  ${found}`)
          if (advice !== null) out.line(`${' '.repeat(width + 10)}${advice}`)
        }
        out.note(failed + warned === 0 ? 'Everything is fine.' : `${failed} failed, ${warned} to check.`)
      }
      if (failed > 0) throw new ExitCode(1)
    })
}
