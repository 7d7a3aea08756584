import { until } from './service-process.ts'

/** Controls deliveries through the plain API. */
export interface Operator {
  readonly key: string
  ask<T>(method: string, path: string, body?: object): Promise<T>
  /** Uploads a new version of model `m`; creates the model if it is missing. */
  upload(content: string | Uint8Array, model?: string): Promise<void>
}

export interface Rollout {
  readonly rollout_id: string
  readonly status: string
  readonly percentage: number
  readonly reason: string | null
  readonly reports: Readonly<Record<string, number>>
}

/** Registers as a device under open enrollment. Calls `baseUrl` each time, because services restart. */
export const operatorOf = async (baseUrl: () => string): Promise<Operator> => {
  let key = ''
  const ask: Operator['ask'] = async (method, path, body) => {
    const isForm = body instanceof FormData
    const response = await fetch(`${baseUrl()}/api/v1${path}`, {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  key = (await ask<{ api_key: string }>('POST', '/devices/register', { device_id: 'operator' })).api_key
  const models = new Set<string>()
  return {
    key,
    ask,
    upload: async (content, model = 'm') => {
      if (!models.has(model)) await ask('POST', '/models', { name: model })
      models.add(model)
      const form = new FormData()
      form.set('file', new Blob([content as BlobPart]), 'weights.bin')
      await ask('POST', `/models/${model}/versions/upload`, form)
    },
  }
}

/** Waits until the service knows the devices. */
export const registered = (operator: Operator, names: readonly string[]): Promise<unknown> =>
  until(
    () => Promise.allSettled(names.map((name) => operator.ask('GET', `/devices/${name}`))),
    (found) => found.every(({ status }) => status === 'fulfilled'),
  )
