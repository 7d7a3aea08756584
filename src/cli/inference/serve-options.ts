/** The parsed options of `svc serve`. */
export interface ServeOptions {
  readonly port: number
  readonly host: string
  readonly engine: string
  readonly benchmark?: true
  readonly share?: true
  readonly jsonMode?: true
  readonly cacheSize: number
  readonly cache: boolean
  readonly maxQueue: number
  readonly models?: readonly string[]
  readonly autoRoute?: true
  readonly routeStrategy: string
  readonly compressOver?: number
  readonly threads?: number
  readonly context?: number
  readonly slots?: number
  /** In minutes. */
  readonly unloadAfter?: number
  readonly draft?: string
  readonly announce: boolean
  readonly logLevel: string
  readonly apiKey?: string
  readonly lora?: readonly string[]
}
