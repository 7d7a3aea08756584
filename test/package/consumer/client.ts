import { ApiError, createClient, type ErrorBody, type paths, unwrap } from 'tributary/client'

type Started = paths['/api/v1/training/rounds/start']['post']['responses'][201]['content']['application/json']

export const startRound = async (baseUrl: string, apiKey: string): Promise<Started['status']> => {
  const client = createClient({ baseUrl, apiKey })
  const body = { target_devices: 1, min_devices: 1, hyperparameters: { classes: 2 } }
  const { status } = await unwrap(client.POST('/api/v1/training/rounds/start', { body }))
  return status
}

/** Returns the error code for a key that does not exist. */
export const refusal = async (baseUrl: string): Promise<ErrorBody['error'] | null> => {
  try {
    await unwrap(createClient({ baseUrl, apiKey: 'none' }).GET('/api/v1/training/rounds/current'))
    return null
  } catch (error) {
    return error instanceof ApiError ? error.code : null
  }
}
