import { spawn } from 'node:child_process'
import type { Io } from './io.ts'

/** Colors pass, lines are not folded, and what fits on one screen stays on it. */
const LESS = { LESS: 'FRX', LESSCHARSET: 'utf-8' }

/** SVC_PAGER, else PAGER, else less; none where that is empty or `cat`. */
export const pagerOf =
  (env: Io['env']): NonNullable<Io['pager']> =>
  (text) => {
    const command = env.SVC_PAGER ?? env.PAGER ?? 'less'
    if (command.trim() === '' || command.trim() === 'cat') return Promise.resolve(false)
    return new Promise((resolve) => {
      const child = spawn(command, [], {
        stdio: ['pipe', 'inherit', 'inherit'],
        env: { ...LESS, ...process.env },
        shell: true,
      })
      // Ctrl-C belongs to the pager while it is there.
      const ignore = (): void => undefined
      process.on('SIGINT', ignore)
      child.on('error', () => resolve(false))
      child.on('close', (code) => {
        process.off('SIGINT', ignore)
        // 127: the shell did not find it.
        resolve(code !== 127)
      })
      // It was left before it had read all.
      child.stdin.on('error', ignore)
      child.stdin.end(text)
    })
  }
