const model = 'starter'
const question = 'What is the capital of France?'
const response = 'The capital of France is Paris.'
const created = 1_769_860_800

export const examples = {
  models: { object: 'list', data: [{ id: model, object: 'model', created, owned_by: 'local' }] },
  chat: { model, messages: [{ role: 'user', content: question }], max_tokens: 64, temperature: 0.7 },
  completion: {
    id: 'chatcmpl-2f1c',
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: response }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 14, completion_tokens: 8, total_tokens: 22 },
  },
  embed: { model: 'my-embedder', input: ['A cat sleeps.', 'A dog barks.'] },
  embeddings: {
    object: 'list',
    data: [
      { object: 'embedding', index: 0, embedding: [0.12, -0.4, 0.9] },
      { object: 'embedding', index: 1, embedding: [0.1, -0.5, 0.8] },
    ],
    model: 'my-embedder',
    usage: { prompt_tokens: 8, total_tokens: 8 },
  },
}
