import type { ProxiedProgram } from './program.ts'

/** MLC's compiled models. In its mode `local`, the default, it computes four replies side by side. */
export const mlcLlm: ProxiedProgram = {
  name: 'mlc-llm',
  program: 'mlc_llm',
  install: 'see https://llm.mlc.ai/docs/install/mlc_llm.html',
  arguments: ({ path }, host, port) => ['serve', path, '--host', host, '--port', String(port)],
  slots: 4,
  contextIn: { file: 'mlc-chat-config.json', key: 'context_window_size' },
  // Its schema is a text, not an object.
  responseFormat: (format) =>
    format.type === 'json_schema' ? { type: 'json_object', schema: JSON.stringify(format.schema) } : format,
  keepsMaxTokens: true,
  keepsStops: true,
}
