import { spawn } from 'node:child_process'
import type { Io } from './io.ts'

/** Keeps colors, does not wrap lines, and exits if the text fits on one screen. */
const LESS = { LESS: 'FRX', LESSCHARSET: 'utf-8' }

/** SVC_PAGER, else PAGER, else less, which Windows does not have; no pager if that is empty or `cat`. */
export const pagerOf =
  (env: Io['env'], platform: NodeJS.Platform = process.platform): NonNullable<Io['pager']> =>
  (text) => {
    const command = env.SVC_PAGER ?? env.PAGER ?? (platform === 'win32' ? '' : 'less')
    if (command.trim() === '' || command.trim() === 'cat') return Promise.resolve(false)
    return new Promise((resolve) => {
      const child = spawn(command, [], {
        stdio: ['pipe', 'inherit', 'inherit'],
        env: { ...LESS, ...process.env },
        shell: true,
      })
      // The pager handles Ctrl-C while it runs.
      const ignore = (): void => undefined
      process.on('SIGINT', ignore)
      child.on('error', () => resolve(false))
      child.on('close', (code) => {
        process.off('SIGINT', ignore)
        // 127: the shell did not find the command.
        resolve(code !== 127)
      })
      // Ignores the error if the user quits before the pager has read everything.
      child.stdin.on('error', ignore)
      child.stdin.end(text)
    })
  }
