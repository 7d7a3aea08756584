// The part of the package that the tests' identity provider uses; the package has no types.
declare module 'oidc-provider' {
  // biome-ignore lint/style/noDefaultExport: It is the package's.
  export default class Provider {
    constructor(issuer: string, configuration: object)
    interactionDetails(request: unknown, response: unknown): Promise<InteractionDetails>
    interactionFinished(request: unknown, response: unknown, result: object): Promise<void>
    callback(): (request: unknown, response: unknown) => void
    readonly Grant: new (
      about: object,
    ) => { addOIDCScope(scope: string): void; save(): Promise<string> }
  }
  interface InteractionDetails {
    readonly prompt: { readonly name: string }
    readonly params: { readonly client_id: string }
    readonly session?: { readonly accountId: string }
  }
}
