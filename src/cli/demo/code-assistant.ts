import { chooseEngine, thisPlatform } from '../../inference/engines/choose-engine.ts'
import { freePort } from '../../inference/engines/proxied/free-port.ts'
import type { ModelFile } from '../../inference/models/model-file.ts'
import { readyModels } from '../../inference/models/model-folder.ts'
import { STARTER } from '../../inference/models/starter.ts'
import { Failure } from '../failure.ts'
import { untilAborted } from '../io.ts'
import { type LocalServer, modelOf, startServer } from '../network/local-server.ts'
import { serverAt, serverKey } from '../network/running-server.ts'
import { parseApiBase } from '../service-address.ts'
import type { Session } from '../session.ts'
import { servePage } from './page-server.ts'
import { chatInTerminal } from './terminal-chat.ts'

export interface AssistantOptions {
  readonly model: string
  readonly url?: string
  readonly port: number
  readonly autoStart: boolean
}

const USUAL_SERVER = 'http://127.0.0.1:8080'

const isForCode = ({ name }: ModelFile): boolean => /cod(e|er|ing)|devstral/i.test(name)

const canRun = async (model: ModelFile, { io }: Session): Promise<boolean> => {
  // Mostly embedding and speech models.
  if (model.format === 'onnx') return false
  const question = { model, requested: 'auto', platform: thisPlatform(), env: io.env }
  return chooseEngine(question).then(
    () => true,
    () => false,
  )
}

/** Returns the best local model for code that can run here: a code model, otherwise the largest. */
const modelForCode = async (session: Session): Promise<string> => {
  const { io, home } = session
  if (io.env.SERVICE_MODEL) return io.env.SERVICE_MODEL
  const there = await readyModels(home.folder)
  const runs = await Promise.all(there.map((model) => canRun(model, session)))
  const [best] = there
    .filter((_model, index) => runs[index])
    .sort((one, other) => Number(isForCode(other)) - Number(isForCode(one)) || other.bytes - one.bytes)
  return best?.name ?? STARTER
}

/** Returns the server and the model to use. */
const openServer = async (
  session: Session,
  options: AssistantOptions,
): Promise<readonly [LocalServer, model: string]> => {
  const given = options.url === undefined ? null : parseApiBase(options.url, '--url').replace(/\/v1$/, '')
  const url = given ?? USUAL_SERVER
  // Without --url, another program may be using the default port; our own server then takes another port.
  const running = await serverAt(url, session).catch((error: unknown) => {
    if (given === null && options.autoStart && !session.io.signal.aborted) return null
    throw error
  })
  const named = options.model === 'auto' ? null : options.model
  if (running !== null) return [{ ...running, stop: () => Promise.resolve() }, modelOf(running, named)]
  if (given !== null || !options.autoStart) {
    throw new Failure(`There is no inference server at ${url}.`, {
      advice: 'Start one with svc serve, or leave out --url and --no-auto-start.',
    })
  }
  const started = await startServer(session, named ?? (await modelForCode(session)), await freePort())
  return [started, modelOf(started, null)]
}

/** Runs a web page and a terminal chat, until the chat ends or svc is stopped. */
export const codeAssistant = async (session: Session, options: AssistantOptions): Promise<void> => {
  const { io, out } = session
  const [server, model] = await openServer(session, options)
  try {
    const page = await servePage(options.port, { url: server.url, key: serverKey(io.env) }, model)
    try {
      out.line(`Code assistant: ${page.url}`)
      out.note(`It uses ${model} at ${server.url}. You can also ask here: /new starts over, /exit quits.`)
      const requested = await chatInTerminal(session, server.url, model)
      // Input that ended without a question is not a user's: keeps serving the page.
      if (requested === 0 && io.stdin?.isTTY !== true) await untilAborted(io.signal)
    } finally {
      await page.close()
    }
  } finally {
    await server.stop()
  }
}
