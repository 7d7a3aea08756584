import { parseOrigins, parsePublicUrl } from '../../domain/own-hosts.ts'
import { wrongUsage } from '../failure.ts'
import type { Io } from '../io.ts'

/** SERVICE_PUBLIC_URL and SERVICE_CORS_ORIGINS, which mean for `svc serve` what they mean for the service. */
export const publicAddressIn = (
  env: Io['env'],
): { readonly publicUrl: string | null; readonly corsOrigins: readonly string[] } => {
  const given = env.SERVICE_PUBLIC_URL?.trim() || null
  const publicUrl = given === null ? null : parsePublicUrl(given)
  if (given !== null && publicUrl === null) {
    throw wrongUsage(
      'SERVICE_PUBLIC_URL is not the address of a server.',
      'It must look like https://models.example.org.',
    )
  }
  const { origins, wrong } = parseOrigins(env.SERVICE_CORS_ORIGINS ?? '')
  if (wrong !== null) {
    throw wrongUsage(`SERVICE_CORS_ORIGINS: '${wrong}' is not an origin.`, 'It must look like https://app.example.org.')
  }
  return { publicUrl, corsOrigins: origins }
}
