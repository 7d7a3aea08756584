import { createRequire } from 'node:module'
import { type Environment, findProgram } from '../find-program.ts'
import { ENGINE_NAMES, type EngineName } from './engine.ts'
import { engineState } from './optional/installed-engine.ts'
import { enginesFolder, installLine, LLAMA_VERSION, llamaBuild, ONNXRUNTIME } from './optional/optional-engine.ts'
import { serverNamed } from './proxied/servers.ts'

export interface EngineStatus {
  readonly name: EngineName
  readonly installed: boolean
  /** The location: a program's path, or the package that contains it. */
  readonly where: string | null
  /** The command that installs it. */
  readonly install: string
  /** Never run against the real program here; tests cover only its protocol. */
  readonly experimental: boolean
}

/** Checks without loading, which is slow and can crash if a binary does not fit. */
const isResolvable = (name: string): boolean => {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    return false
  }
}

export const engineStatus = async (name: EngineName, env: Environment): Promise<EngineStatus> => {
  if (name === 'llama.cpp') {
    // Comes with the package, unless it was installed without optional packages.
    const build = llamaBuild()
    const installed = build !== null && isResolvable(build)
    return {
      name,
      installed,
      where: installed ? build : null,
      install: `npm install ${build}@${LLAMA_VERSION}`,
      experimental: false,
    }
  }
  if (name === 'onnxruntime') {
    const part = await engineState(ONNXRUNTIME, enginesFolder(env))
    const installed = part.state === 'installed'
    return {
      name,
      installed,
      where: installed ? part.folder : null,
      install: installLine(ONNXRUNTIME),
      experimental: false,
    }
  }
  const { program, install } = serverNamed(name)!
  const where = await findProgram(program, env)
  return { name, installed: where !== null, where, install, experimental: true }
}

export const allEngines = (env: Environment): Promise<readonly EngineStatus[]> =>
  Promise.all(ENGINE_NAMES.map((name) => engineStatus(name, env)))
