/** The server and model for a coding agent. */
export interface AgentServer {
  /** Without /v1. */
  readonly url: string
  readonly model: string
  /** The server's key. A placeholder if it requires none, because agents refuse to start without a key. */
  readonly key: string
  /** A folder for files that the agent reads; deleted when it exits. */
  readonly folder: string
}

export interface AgentSetup {
  readonly env: Readonly<Record<string, string>>
  readonly argv: readonly string[]
  /** File contents by path. */
  readonly files?: Readonly<Record<string, string>>
}

/** A coding agent that supports a custom server. */
export interface Agent {
  /** Also the name of its program on the PATH. */
  readonly name: string
  readonly install: string
  readonly setUp: (server: AgentServer) => AgentSetup
}

/** The default model: small, and good at code for its size. */
export const DEFAULT_MODEL = 'qwen3'

/** Source: aider.chat/docs/llms/openai-compat.html */
const aider: Agent = {
  name: 'aider',
  install: 'python -m pip install aider-install && aider-install',
  setUp: ({ url, model, key }) => ({
    env: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key },
    argv: ['--model', `openai/${model}`],
  }),
}

/** Source: developers.openai.com/codex/config-advanced. The only supported `wire_api` is responses. */
const codex: Agent = {
  name: 'codex',
  install: 'npm install -g @openai/codex',
  setUp: ({ url, model, key }) => {
    const provider = `{name="svc",base_url="${url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`
    return {
      env: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key },
      argv: [
        ...['-c', 'model_provider="svc"', '-c', `model_providers.svc=${provider}`],
        // Web search runs on OpenAI's servers only.
        ...['-c', 'web_search="disabled"', '--model', model],
      ],
    }
  },
}

/** Source: code.claude.com/docs, environment variables. The address has no /v1. The user's own key would take precedence. */
const claude: Agent = {
  name: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  setUp: ({ url, model, key }) => ({
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_API_KEY: '',
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
    argv: ['--model', model],
  }),
}

/** Source: docs.openclaw.ai, environment and configuration. Providers are set in a file, so this run gets its own file. */
const openclaw: Agent = {
  name: 'openclaw',
  install: 'npm install -g openclaw',
  setUp: ({ url, model, key, folder }) => {
    const path = `${folder}/openclaw.json`
    const provider = {
      baseUrl: `${url}/v1`,
      apiKey: key,
      api: 'openai-completions',
      models: [{ id: model, name: model }],
    }
    const config = {
      models: { mode: 'merge', providers: { svc: provider } },
      agents: { defaults: { model: { primary: `svc/${model}` } } },
    }
    return {
      env: { OPENCLAW_CONFIG_PATH: path, OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key },
      argv: [],
      files: { [path]: `${JSON.stringify(config, null, 2)}\n` },
    }
  },
}

export const AGENTS: readonly Agent[] = [claude, codex, openclaw, aider]
