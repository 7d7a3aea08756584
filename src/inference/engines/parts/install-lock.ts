import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_AGAIN_MS = 500

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The content of a lock whose owner is gone; null while its owner lives, or before it has written who it is. */
const leftOver = async (path: string): Promise<string | null> => {
  const text = await readFile(path, 'utf8').catch(() => null)
  const pid = Number(text)
  return text !== null && Number.isInteger(pid) && pid > 0 && !isAlive(pid) ? text : null
}

/** Taken aside first: in the meantime somebody else may have found it too, and made the lock theirs. */
const removeLeftOver = async (path: string, content: string): Promise<void> => {
  const aside = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await rename(path, aside)
    if ((await readFile(aside, 'utf8')) !== content) await link(aside, path)
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
  await rm(aside, { force: true })
}

/** Does `work` while no other process on this machine that asks for the same lock does. `onWait` is told once if it has to wait. */
export const whileLocked = async <Result>(
  path: string,
  signal: AbortSignal,
  onWait: () => void,
  work: () => Promise<Result>,
): Promise<Result> => {
  await mkdir(dirname(path), { recursive: true })
  for (let tries = 0; ; tries += 1) {
    try {
      const file = await open(path, 'wx')
      await file.writeFile(String(process.pid))
      await file.close()
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const content = await leftOver(path)
    if (content !== null) await removeLeftOver(path, content)
    else {
      if (tries === 0) onWait()
      await sleep(LOOK_AGAIN_MS, undefined, { signal })
    }
  }
  try {
    return await work()
  } finally {
    await rm(path, { force: true })
  }
}
