import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { builtFile } from '../../../../test/e2e/built-program.ts'
import { lockFolder } from './folder-lock.ts'

const holder = async () => `
  import { lockFolder } from ${JSON.stringify(await builtFile('platform/db/embedded/folder-lock.js'))}
  await lockFolder(process.argv[2])
  process.send('locked')
  setInterval(() => {}, 1000)
`

const lockInAnotherProcess = async (folder: string): Promise<ChildProcess> => {
  const script = join(await emptyFolder(), 'holder.mjs')
  await writeFile(script, await holder())
  const child = fork(script, [folder], { execArgv: [] })
  await once(child, 'message')
  return child
}

const refusal = (folder: string, owner: string): string =>
  `The data folder ${folder} is in use by ${owner}. Stop that process, or choose another SERVICE_DATA_DIR. ` +
  'To run several processes on the same data, set SERVICE_DATABASE_URL to a PostgreSQL server.'

test('a folder in use by another process is refused, naming it, and is free once that is killed', async () => {
  const folder = await emptyFolder()
  const holder = await lockInAnotherProcess(folder)
  await expect(lockFolder(folder)).rejects.toThrow(refusal(folder, `process ${holder.pid} on ${hostname()}`))
  const linked = join(await emptyFolder(), 'link')
  await symlink(folder, linked)
  await expect(lockFolder(linked)).rejects.toThrow('is in use by process')

  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const lock = await lockFolder(folder)
  await expect(lockFolder(folder)).rejects.toThrow(refusal(folder, `process ${process.pid} on ${hostname()}`))
  await lock.release()
  await (await lockFolder(folder)).release()
})

test.skipIf(process.platform === 'win32')('a container that shares only the folder is detected too', async () => {
  const folder = await emptyFolder()
  // Holds the socket file, but not the name in the kernel, which containers do not share.
  const container = createServer().listen(join(folder, 'database.lock'))
  await once(container, 'listening')
  await expect(lockFolder(folder)).rejects.toThrow(refusal(folder, 'another process'))
  container.close()
  await (await lockFolder(folder)).release()
})

test.skipIf(process.platform !== 'linux')('the path may exceed the length of a socket address', async () => {
  const folder = join(await emptyFolder(), 'x'.repeat(120))
  await mkdir(folder)
  const lock = await lockFolder(folder)
  await expect(lockFolder(folder)).rejects.toThrow(refusal(folder, `process ${process.pid} on ${hostname()}`))
  await lock.release()
})

test.skipIf(process.platform !== 'linux')(
  'a folder that cannot contain a socket is locked only by its kernel name',
  async () => {
    const folder = await emptyFolder()
    // A folder in the socket's place makes connecting and listening fail, as on a file system without sockets.
    await mkdir(join(folder, 'database.lock', 'full'), { recursive: true })
    const lock = await lockFolder(folder)
    await expect(lockFolder(folder)).rejects.toThrow(refusal(folder, `process ${process.pid} on ${hostname()}`))
    await lock.release()
  },
)

test.runIf(process.geteuid?.() === 0)(
  'a folder on a full disk is refused with that reason (needs root)',
  async ({ skip }) => {
    const folder = await emptyFolder()
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status !== 0) return skip()
    onTestFinished(() => void spawnSync('umount', [folder]))
    await writeFile(join(folder, 'fill'), Buffer.alloc(128 * 1024)).catch(() => undefined)
    await expect(lockFolder(folder)).rejects.toThrow(
      `The data folder ${folder} cannot be used: ENOSPC: no space left on device, write. Free space on the disk, or set ` +
        'SERVICE_DATA_DIR to another folder.',
    )
  },
)
