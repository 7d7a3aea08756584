import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { isRunning } from './file-lock.ts'

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
