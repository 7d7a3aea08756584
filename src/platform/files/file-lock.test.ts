import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { isRunning } from './file-lock.ts'

it.skipIf(process.platform !== 'linux')(
  'a process that has ended does not run, even if its parent ignores that',
  async () => {
    const parent = spawn('sh', ['-c', 'cat & echo $!; exec sleep 300'], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = await once(parent.stdout, 'data')
    const pid = Number(String(line))
    expect(isRunning(parent.pid!)).toBe(true)
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => isRunning(pid)).toBe(false)
    expect(process.kill(pid, 0)).toBe(true)
  },
)
