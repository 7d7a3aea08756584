/**
 * onnxruntime, from version 1.29 on, stores an identifier of the device and sends names and hashes of models, and errors, to its
 * maker; vLLM and Hugging Face's libraries report their use. Each reads one of these variables when it is loaded.
 */
const NO_TELEMETRY = { ORT_DISABLE_TELEMETRY: '1', DO_NOT_TRACK: '1' }

/** Returns the environment of a process that runs models. A setting of the user has precedence. */
export const engineEnvironment = (env: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv => ({
  ...NO_TELEMETRY,
  ...env,
})
