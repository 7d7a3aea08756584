import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'

describe('the settings', () => {
  it('are all in the table of the README', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
    const table = readme.split('## Settings')[1]!.split('\n## ')[0]!
    const listed = [...table.matchAll(/^\| (`SERVICE_.*?) \|/gm)].flatMap(([, names]) => names!.match(/SERVICE_\w+/g)!)
    // The error about an unknown setting lists those that exist.
    const error = `Known: ${listed.toSorted().join(', ')}.`
    expect(() => readConfig({ SERVICE_UNKNOWN: '1' })).toThrow(error)
  })

  it('all have defaults', () => {
    expect(readConfig({ SERVICE_HOME: '/srv/svc' })).toEqual({
      host: '127.0.0.1',
      port: 8000,
      dataDir: '/srv/svc/data',
      databaseUrl: null,
      enrollment: 'open',
      rateLimitPerMinute: 100,
      stragglerGraceSeconds: null,
      maxUploadBytes: 16 * 1024 ** 3,
      backupUrl: null,
      backupHours: 24,
      backupKeep: 7,
      scrubDays: 30,
      scrubBytesPerSecond: 20_000_000,
      conversions: 'on',
      maxConversionBytes: 2 ** 30,
      updateRetentionDays: 7,
      roundModelsKept: 100,
      jobStateRetentionDays: 90,
      storage: { kind: 'folder', path: null },
      replaceKeys: [],
      cacheBytes: 10 * 1024 ** 3,
      downloads: 'proxy',
      drainSeconds: 0,
      corsOrigins: [],
      certificate: null,
      publicUrl: null,
      region: null,
      smtp: null,
      oidc: null,
      inferenceUrl: null,
      inferenceKey: null,
      integrationsPrivate: 'allow',
      trustProxy: [],
      logLevel: 'info',
    })
  })

  it.each([
    ['127.0.0.1', 'open'],
    ['::1', 'open'],
    ['localhost', 'open'],
    ['0.0.0.0', 'token'],
    ['192.0.2.7', 'token'],
  ])('on %s make enrollment %s unless told otherwise', (host, enrollment) => {
    expect(readConfig({ SERVICE_HOST: host }).enrollment).toBe(enrollment)
    expect(readConfig({ SERVICE_HOST: host, SERVICE_ENROLLMENT: 'token' }).enrollment).toBe('token')
  })

  it.each([
    ['/srv/weights', { kind: 'folder', path: '/srv/weights' }],
    ['file:///srv/we%20ights', { kind: 'folder', path: '/srv/we ights' }],
    ['s3://bucket', { kind: 's3', bucket: 'bucket', prefix: '', endpoint: null, region: null }],
    [
      's3://my.bucket/a/b/?endpoint=http://127.0.0.1:9000/&region=eu-central-1',
      {
        kind: 's3',
        bucket: 'my.bucket',
        prefix: 'a/b/',
        endpoint: 'http://127.0.0.1:9000',
        region: 'eu-central-1',
      },
    ],
    ['file:///srv/my%20weights', { kind: 'folder', path: '/srv/my weights' }],
    ['file:///D:/weights', { kind: 'folder', path: 'D:/weights' }],
  ])('keep files in SERVICE_STORAGE_URL=%s', (url, storage) => {
    expect(readConfig({ SERVICE_STORAGE_URL: url }).storage).toEqual(storage)
  })

  it('let only S3 redirect, and only a folder be sent by nginx', () => {
    const s3 = { SERVICE_STORAGE_URL: 's3://bucket' }
    expect(readConfig({ ...s3, SERVICE_DOWNLOADS: 'redirect' }).downloads).toBe('redirect')
    expect(() => readConfig({ ...s3, SERVICE_DOWNLOADS: 'x-accel' })).toThrow('SERVICE_DOWNLOADS')
    expect(readConfig({ SERVICE_DOWNLOADS: 'x-accel' }).downloads).toBe('x-accel')
  })

  it.each([
    ['SERVICE_PORT', 'eighty'],
    ['SERVICE_PORT', '65536'],
    ['SERVICE_PORT', '0x1F40'],
    ['SERVICE_ENROLLMENT', 'maybe'],
    ['SERVICE_DATABASE_URL', 'mysql://localhost/x'],
    ['SERVICE_DATABASE_URL', 'postgres://user:pass#word@localhost/x'],
    ['SERVICE_DATABASE_URL', 'postgres://user@localhost/x?sslmode=verfy-full'],
    ['SERVICE_OIDC_ISSUER', 'https://login.example.org'],
    ['SERVICE_OIDC_CLIENT_SECRET', 'secret'],
    ['SERVICE_STORAGE_URL', 's3://'],
    ['SERVICE_STORAGE_URL', 's3://no_bucket'],
    ['SERVICE_STORAGE_URL', 's3://key:secret@bucket'],
    ['SERVICE_STORAGE_URL', 's3://bucket/../x y'],
    ['SERVICE_STORAGE_URL', 's3://bucket?endpoint=localhost:9000'],
    ['SERVICE_STORAGE_URL', 's3://bucket?region=EU!'],
    ['SERVICE_STORAGE_URL', 's3://bucket?regoin=eu'],
    ['SERVICE_STORAGE_URL', 'weights'],
    ['SERVICE_STORAGE_URL', 'https://bucket.example.org'],
    ['SERVICE_CACHE_BYTES', '-1'],
    ['SERVICE_DOWNLOADS', 'nginx'],
    ['SERVICE_DOWNLOADS', 'redirect'],
    ['SERVICE_RATE_LIMIT_PER_MINUTE', '0'],
    ['SERVICE_STRAGGLER_GRACE_SECONDS', '-1'],
    ['SERVICE_MAX_UPLOAD_BYTES', '1.5'],
    ['SERVICE_UPDATE_RETENTION_DAYS', 'week'],
    ['SERVICE_CORS_ORIGINS', 'example.org'],
    ['SERVICE_TLS_CERT', '/etc/svc/cert.pem'],
    ['SERVICE_TLS_KEY', '/etc/svc/key.pem'],
    ['SERVICE_HOME', '~/svc'],
    ['SERVICE_DATA_DIR', '$HOME/data'],
    ['SERVICE_DATA_DIR', '"/srv/data"'],
    ['SERVICE_PUBLIC_URL', 'fleet.example.org'],
    ['SERVICE_PUBLIC_URL', 'https://user:secret@fleet.example.org'],
    ['SERVICE_PUBLIC_URL', 'https://fleet.example.org/svc'],
    ['SERVICE_SERVER_KEY', 'ключ'],
    ['SERVICE_SERVER_KEY', 'two words'],
    ['SERVICE_REGION', 'mars'],
    ['SERVICE_REPLACE_KEYS', '12ab'],
    ['SERVICE_SMTP_URL', 'mail.example.org'],
    ['SERVICE_SMTP_FROM', 'nobody'],
    ['SERVICE_INFERENCE_URL', '127.0.0.1:8080'],
    ['SERVICE_INFERENCE_URL', 'http://key@127.0.0.1:8080'],
    ['SERVICE_TRUST_PROXY', 'true'],
    ['SERVICE_TRUST_PROXY', '1'],
    ['SERVICE_TRUST_PROXY', '0.0.0.0/0'],
    ['SERVICE_TRUST_PROXY', '10.0.0.0/33'],
    ['SERVICE_TRUST_PROXY', '10.0.0.1,proxy.example.org'],
    ['SERVICE_LOG_LEVEL', 'loud'],
    ['SERVICE_PROT', '80'],
  ])('refuse %s=%s by name', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(name)
  })

  it.each([
    'SERVICE_BACKUP_URL',
    'SERVICE_CORS_ORIGINS',
    'SERVICE_DATABASE_URL',
    'SERVICE_INFERENCE_URL',
    'SERVICE_OIDC_ISSUER',
    'SERVICE_PUBLIC_URL',
    'SERVICE_SMTP_URL',
    'SERVICE_STORAGE_URL',
    'SERVICE_TRUST_PROXY',
  ])('a refused %s does not show the password in it', (name) => {
    const oidc = {
      SERVICE_OIDC_ISSUER: 'https://login.example.org',
      SERVICE_OIDC_CLIENT_ID: 'svc',
      SERVICE_OIDC_CLIENT_SECRET: 'other',
    }
    for (const login of ['user:pass@', 'user:pa/pass@', ':pass@']) {
      const s3 = `s3://bucket?endpoint=http://${login}localhost:9000`
      for (const value of [`https://${login}example.org`, `ftp://${login}example.org`, `${login}example.org`, s3]) {
        expect(() => readConfig({ ...oidc, [name]: value })).toThrow(name)
        expect(() => readConfig({ ...oidc, [name]: value })).not.toThrow(/pass@/)
      }
    }
  })

  it.each([
    ['off', []],
    ['loopback,uniquelocal', ['loopback', 'uniquelocal']],
    ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ['fd00::/8', ['fd00::/8']],
  ])('take %s for the proxies that are trusted', (value, trustProxy) => {
    expect(readConfig({ SERVICE_TRUST_PROXY: value }).trustProxy).toEqual(trustProxy)
  })

  it('leave the variables of the command line alone', () => {
    expect(() => readConfig({ SERVICE_API_KEY: 'x', SERVICE_API_BASE: 'y', SERVICE_MODEL: 'z' })).not.toThrow()
  })
})
