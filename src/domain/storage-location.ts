import { hasCredentials, withoutCredentials } from './address-credentials.ts'

/** Where weight files are stored. */
export type StorageLocation = FolderLocation | S3Location

export interface FolderLocation {
  readonly kind: 'folder'
  /** null: in the data folder. */
  readonly path: string | null
}

export interface S3Location {
  readonly kind: 's3'
  readonly bucket: string
  /** The prefix of every key: empty, or with a trailing slash. */
  readonly prefix: string
  /** null: Amazon's. */
  readonly endpoint: string | null
  /** null: taken from the environment. */
  readonly region: string | null
}

/** Amazon's rules for bucket names. */
const BUCKET_RULE = "3 to 63 lowercase letters, digits, '-', or '.'"
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const REGION = /^[a-z0-9-]{1,64}$/

const s3Location = (url: URL): S3Location | string => {
  const { hostname: bucket, searchParams, pathname } = url
  const unknown = [...searchParams.keys()].find((name) => name !== 'endpoint' && name !== 'region')
  if (unknown !== undefined) return `'${unknown}' is not a known parameter; use endpoint or region`
  if (hasCredentials(url)) {
    return 'it must not contain keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
  }
  if (url.port !== '' || !BUCKET.test(bucket)) return `'${url.host}' cannot be the name of a bucket (${BUCKET_RULE})`
  const path = pathname.replace(/^\/+|\/+$/g, '')
  if (!/^[\w.\-/]*$/.test(path) || path.split('/').includes('..')) {
    return "the prefix may have letters, digits, and the characters '_', '-', '.', and '/'"
  }
  const endpoint = searchParams.get('endpoint')
  const host = endpoint !== null && URL.canParse(endpoint) ? new URL(endpoint) : null
  if (host !== null && hasCredentials(host)) {
    return 'the endpoint must not contain a user name or password: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
  }
  if (endpoint !== null && (host === null || !['http:', 'https:'].includes(host.protocol) || host.pathname !== '/')) {
    return `the endpoint must look like https://s3.example.org, got '${withoutCredentials(endpoint)}'`
  }
  const region = searchParams.get('region')
  if (region !== null && !REGION.test(region)) return `the region must look like eu-central-1, got '${region}'`
  return { kind: 's3', bucket, prefix: path && `${path}/`, endpoint: host?.origin ?? null, region }
}

/**
 * Parses `s3://bucket/prefix?endpoint=https://host&region=name`, `file:///folder`, or the absolute path of a folder; absent:
 * the data folder. Returns an error as a string.
 */
export const parseStorageUrl = (value: string | undefined): StorageLocation | string => {
  if (value === undefined) return { kind: 'folder', path: null }
  if (value.startsWith('/') || /^[A-Za-z]:[\\/]/.test(value)) return { kind: 'folder', path: value }
  const url = URL.canParse(value) ? new URL(value) : null
  if (url?.protocol === 's3:') return s3Location(url)
  if (url?.protocol === 'file:' && url.host === '') {
    // file:///C:/folder has the path /C:/folder.
    return { kind: 'folder', path: decodeURIComponent(url.pathname).replace(/^\/(?=[A-Za-z]:\/)/, '') }
  }
  const shown = withoutCredentials(value)
  return `it must look like s3://bucket/prefix?endpoint=https://host&region=name, or be the absolute path of a folder, got '${shown}'`
}
