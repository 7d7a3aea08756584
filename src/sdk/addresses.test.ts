import { afterEach, describe, expect, test, vi } from 'vitest'
import { createDevice } from './device-client.ts'

afterEach(() => vi.unstubAllGlobals())

const inPage = (href: string): void => {
  vi.stubGlobal('location', new URL(href))
}

describe('the address of the service', () => {
  const example = 'It must look like http://127.0.0.1:8000.'
  test.each([
    ['localhost:8000', `baseUrl is not the address of a service: 'localhost:8000'. ${example}`],
    ['127.0.0.1:8000', `baseUrl is not the address of a service: '127.0.0.1:8000'. ${example}`],
    ['', `baseUrl is not the address of a service: ''. ${example}`],
    [undefined as unknown as string, `baseUrl is not the address of a service: 'undefined'. ${example}`],
    ['http://h/?org=a', `baseUrl is not the address of a service: 'http://h/?org=a'. ${example}`],
    ['http://me:secret@[', `baseUrl is not the address of a service: 'http://['. ${example}`],
    ['http://me:secret@127.0.0.1:8000', 'baseUrl contains a user name or password. Leave it out.'],
  ])('is refused at once if no request can be sent to it: %s', (baseUrl, message) => {
    expect(() => createDevice({ baseUrl, deviceId: 'd' })).toThrow(message)
  })

  test.each([undefined, null, new URL('http://h')])('is refused in a page if it is no text: %s', (baseUrl) => {
    inPage('https://app.example.org/index.html')
    expect(() => createDevice({ baseUrl: baseUrl as unknown as string, deviceId: 'd' })).toThrow(
      `baseUrl is not the address of a service: '${baseUrl}'. ${example}`,
    )
  })

  test('may be the origin of the page', async () => {
    inPage('https://app.example.org/index.html?tab=1')
    const sent: string[] = []
    const fetch = async (request: unknown): Promise<Response> => {
      sent.push((request as Request).url)
      return Response.json({ id: '1', api_key: 'sk_live_x' })
    }
    vi.stubGlobal(
      'Request',
      class extends Request {
        constructor(url: string, init: RequestInit) {
          super(new URL(url, 'https://app.example.org'), init)
        }
      },
    )
    const device = createDevice({ baseUrl: '', deviceId: 'd', apiKey: null, fetch })
    expect(await device.register()).toEqual({ id: '1', apiKey: 'sk_live_x' })
    expect(sent).toEqual(['https://app.example.org/api/v1/devices/register'])
  })
})

describe('without a response, the advice', () => {
  const heartbeat = (baseUrl: string) => {
    const fetch = () => Promise.reject(new TypeError('Failed to fetch'))
    return createDevice({ baseUrl, deviceId: 'd', apiKey: 'k', fetch }).heartbeat({}, { until: 0 })
  }

  test('to a page of another origin names the setting that allows it', async () => {
    inPage('https://app.example.org/index.html')
    await expect(heartbeat('https://svc.example.org/')).rejects.toThrow(
      'No response from https://svc.example.org (Failed to fetch). Is the service running, the address right, and ' +
        'https://app.example.org in its SERVICE_CORS_ORIGINS?',
    )
  })

  test.each([
    ['a page of the same origin', 'https://svc.example.org/app/'],
    ['a page that is a file', 'file:///app/index.html'],
    ['other programs', null],
  ])('to %s does not', async (_, page) => {
    if (page !== null) inPage(page)
    await expect(heartbeat('https://svc.example.org')).rejects.toThrow(
      'No response from https://svc.example.org (Failed to fetch). Is the service running and the address right?',
    )
  })
})
