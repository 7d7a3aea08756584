import { expect } from 'vitest'
import type { Organization } from '../../../../test/organizations.ts'
import { apiOf, formOf, startWorld, type TestDevice, type WorldOptions } from '../../../../test/world.ts'

export interface ExperimentBody {
  readonly id: string
  readonly status: string
  readonly warnings: readonly string[]
}

/** Starts a service with an operator's key and helpers for tests of experiments. */
export const startExperimentService = async (options: WorldOptions = {}) => {
  const world = await startWorld(options)
  const { key } = await world.register('operator')
  return experimentsOf({ world, org: 'acme', key })
}

export const experimentsOf = ({ world, org, key }: Organization) => {
  const send = apiOf<unknown>(world, key)
  const ask = (method: string, path: string, body?: unknown, as = key) => send(method, `/experiments${path}`, body, as)

  /** Creates a model with this many uploaded versions; returns its id. */
  const addModel = async (name: string, versions = 1): Promise<string> => {
    const made = await send('POST', '/models', { name })
    const { id } = made.body as { id: string }
    for (let n = 1; n <= versions; n++) await send('POST', `/models/${id}/versions/upload`, formOf(`${name} ${n}`))
    return id
  }

  const create = async (fields: object): Promise<ExperimentBody> => {
    const made = await ask('POST', '', fields)
    expect(made).toMatchObject({ status: 201 })
    return made.body as ExperimentBody
  }

  /** Two variants, `control` and `treatment`, with half of the devices each. */
  const halves = (fields: object = {}) => ({
    name: 'a b',
    variants: [
      { name: 'control', model_id: 'old', allocation: 0.5 },
      { name: 'treatment', model_id: 'new', allocation: 0.5 },
    ],
    ...fields,
  })
  const createHalves = async (fields: object = {}): Promise<ExperimentBody> => {
    await addModel('old')
    await addModel('new')
    return create(halves(fields))
  }

  const variantOf = async (id: string, deviceId: string): Promise<string | null> => {
    const { body } = await ask('GET', `/${id}/assignment?device_id=${deviceId}`)
    return (body as { variant: string | null }).variant
  }
  const fleet = (size: number): Promise<TestDevice[]> =>
    Promise.all(Array.from({ length: size }, (_, n) => world.register(`d${n}`)))
  /** Registers devices until each variant has `enough`; which one a device gets depends on the experiment's id. */
  const fill = async (id: string, enough: number) => {
    const variants: Record<string, string[]> = { control: [], treatment: [] }
    for (let n = 0; Object.values(variants).some(({ length }) => length < enough); n++) {
      const { deviceId } = await world.register(`d${n}`)
      variants[(await variantOf(id, deviceId)) ?? '']!.push(deviceId)
    }
    return variants
  }

  return { world, org, key, send, ask, addModel, create, halves, createHalves, variantOf, fleet, fill }
}

export const nowhere = '00000000-0000-4000-8000-000000000000'
export const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
