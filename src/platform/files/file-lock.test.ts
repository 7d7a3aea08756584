import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { isRunning, lockFile } from './file-lock.ts'

it.skipIf(process.platform !== 'linux')(
  'a process that has ended does not run, even if its parent ignores that',
  async () => {
    const parent = spawn('sh', ['-c', 'sleep 300 & echo $!; exec sleep 301'], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = await once(parent.stdout, 'data')
    const pid = Number(String(line))
    expect(isRunning(parent.pid!)).toBe(true)
    // From then on, it is a program that waits for no child.
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n')
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => isRunning(pid)).toBe(false)
    expect(process.kill(pid, 0)).toBe(true)
  },
)

it.skipIf(process.platform !== 'linux')('a reboot ends a lock, whatever the clock says', async () => {
  const path = join(await emptyFolder(), 'lock')
  const lock = () => lockFile(path, (holder) => new Error(`in use by ${holder}`))
  const held = await lock()
  const [own = '', host = '', id = '', scope = ''] = (await readFile(path, 'utf8')).split(' ')
  await held.release()
  const leave = async (scopeOfHolder: string, changedAt: Date): Promise<void> => {
    await writeFile(path, [process.ppid, host, id, scopeOfHolder].join(' '))
    await utimes(path, changedAt, changedAt)
  }
  expect(Number(own)).toBe(process.pid)
  // The holder, which runs, took the lock before the clock was set.
  await leave(scope, new Date(0))
  await expect(lock()).rejects.toThrow(`in use by process ${process.ppid} on ${host}`)
  // After the reboot another process has the holder's id, and the clock is behind.
  await leave(scope.replace(/^[^:]+/, '00000000-0000-4000-8000-000000000000'), new Date(Date.now() + 3_600_000))
  await (await lock()).release()
})
