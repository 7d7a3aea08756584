import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Engine } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import type { Admissions } from '../runtime/queue/admission.ts'
import type { ModelSource } from './model-source.ts'

/** What requests other than chats need of the server. */
export interface ModelDeps {
  readonly source: ModelSource
  readonly admissions: Admissions
}

type Ability = 'embed' | 'transcribe'

const LACKS: Readonly<Record<Ability, string>> = {
  embed: 'does not compute embeddings',
  transcribe: 'does not transcribe speech',
}

/**
 * Runs `work` with the model loaded and one of its places held.
 * @throws InferenceError model_not_found, queue_full, unsupported where the model lacks the ability
 */
export const withModel = async <A extends Ability, T>(
  { source, admissions }: ModelDeps,
  { name, ability, signal }: { readonly name: string; readonly ability: A; readonly signal: AbortSignal },
  work: (engine: Engine & Required<Pick<Engine, A>>) => Promise<T>,
): Promise<T> => {
  const lease = await source.open(name, signal)
  try {
    const { engine } = lease
    if (engine[ability] === undefined) {
      throw new InferenceError('unsupported', `The model '${name}' ${LACKS[ability]}.`, { param: 'model' })
    }
    const [place] = await Promise.all(admissions.of(engine).enter(1, signal))
    try {
      return await work(engine as Engine & Required<Pick<Engine, A>>)
    } finally {
      place!.release()
    }
  } finally {
    lease.release()
  }
}

/** Why the work for a request ended: nobody is left to answer. */
class ClientGone extends Error {
  override readonly name = 'ClientGone'

  constructor() {
    super('The client has closed the connection.')
  }
}

/**
 * Runs `work` with a signal that is aborted when the client goes away. The socket is watched, not the answer: that of a
 * pipelined request is not told of a socket which it was never given.
 */
export const whilePresent = async (
  request: FastifyRequest,
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<FastifyReply>,
): Promise<FastifyReply> => {
  const { socket } = request
  const presence = new AbortController()
  const leave = (): void => presence.abort(new ClientGone())
  socket.once('close', leave)
  if (socket.destroyed) leave()
  try {
    return await work(presence.signal)
  } catch (error) {
    if (!presence.signal.aborted) throw error
    return reply.hijack()
  } finally {
    socket.removeListener('close', leave)
  }
}
