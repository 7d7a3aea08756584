import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

export type Environment = Readonly<Record<string, string | undefined>>

/** Returns the path of a program as the shell would find it; null if it is not installed. */
export const findProgram = async (name: string, env: Environment): Promise<string | null> => {
  const endings = process.platform === 'win32' ? (env.PATHEXT ?? '.EXE;.CMD;.BAT').split(';') : ['']
  for (const folder of (env.PATH ?? env.Path ?? '').split(delimiter).filter(Boolean)) {
    for (const ending of endings) {
      const path = join(folder, name + ending.toLowerCase())
      try {
        await access(path, constants.X_OK)
        if ((await stat(path)).isFile()) return path
      } catch {
        // Not in this folder.
      }
    }
  }
  return null
}
