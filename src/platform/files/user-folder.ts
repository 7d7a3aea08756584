import { homedir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'

const found = (read: () => string): string | undefined => {
  try {
    return read() || undefined
  } catch {
    return undefined
  }
}

/**
 * Like os.homedir(), which returns an empty HOME as it is, and fails without HOME for a user that has no entry in /etc/passwd, as in
 * containers that run as any user id: then `/`, as container runtimes set HOME.
 */
export const userFolder = (): string => found(homedir) ?? found(() => userInfo().homedir) ?? '/'

/** The folder of `svc` and the service: SERVICE_HOME, otherwise ~/.svc. */
export const serviceFolder = (given: string | undefined, cwd = '.'): string =>
  resolve(cwd, given || join(userFolder(), '.svc'))
