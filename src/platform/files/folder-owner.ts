import { readFile, stat } from 'node:fs/promises'

export interface User {
  readonly uid: number
  /** As `sudo -u` and `chown` take it, if the user has a name. */
  readonly name: string
}

const userOf = async (uid: number): Promise<User> => {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  const name = lines.map((line) => line.split(':')).find(([, , id]) => id === `${uid}`)?.[0]
  return { uid, name: name ?? `${uid}` }
}

/** The user to whom the file or folder belongs; null if that is this process's user, or unknown. */
export const otherOwnerOf = async (path: string): Promise<User | null> => {
  const mine = process.geteuid?.()
  const found = await stat(path).catch(() => null)
  return mine === undefined || found === null || found.uid === mine ? null : userOf(found.uid)
}

/** Says how this process's user gets `folder`, if `path` in it belongs to another user; null if it does not. */
export const ownerAdvice = async (path: string, folder: string): Promise<string | null> => {
  const owner = await otherOwnerOf(path)
  if (owner === null) return null
  const { name } = await userOf(process.geteuid!())
  const asOwner = owner.uid === 0 ? '' : `run it as ${owner.name}, or `
  return `${path} belongs to ${owner.name}, and this process runs as ${name}: ${asOwner}chown -R ${name} ${folder}`
}
