/** The English sentences. Functions take what goes in; Markdown where the sentence is shown in a thread. */
export const en = {
  // tool activity
  toolRunning: (call: string) => `${call} …`,
  toolDone: (call: string) => call,
  toolFailed: (call: string) => `${call}: failed`,
  toolLines: (shown: number, all: number) => `${shown} of ${all} lines shown`,
  toolCharacters: (shown: number, all: number) => `${shown} of ${all} characters shown`,
  // answers
  emptyAnswer: 'Finished without a message.',
  stoppedBy: (name: string) => `Stopped by ${name}.`,
  stopped: 'Stopped.',
  interrupted: 'Interrupted: the program is restarting. The answer goes on afterwards.',
  continued: '(continued)',
  working: 'is working on it',
  stop: 'Stop',
  stepLimit: (steps: number) => `⚠️ I stopped after ${steps} steps without finishing.`,
  repeatedCall: (tool: string) =>
    `I am going round in circles: I have called \`${tool}\` several times with the same arguments and got the same result each time. How shall I go on?`,
  // failures during a run, one sentence each
  modelUnreachable:
    'I could not reach the model; please try again in a while or ask whoever runs me to look at the log.',
  modelRefusedKey: 'The model server did not accept my key; whoever runs me has to check it.',
  modelOverflow: 'This thread has grown too long for the model; `new` starts afresh here.',
  modelFailed: 'The model failed to answer; please try again.',
  runFailed: 'Something went wrong on my side; nothing you wrote is lost, and the log has the details.',
  // doors
  notAllowed: 'Sorry, I am not set up to work for you here; an admin of the bot can change that.',
  alreadyDone: 'That button has done its work already.',
  nothingToStop: 'Nothing is running here.',
  stopping: 'Stopping …',
  // commands
  unknownCommand: (name: string) => `I don't know the command \`${name}\`; \`help\` lists what I know.`,
  commandWithoutTask: (command: string) => `\`${command}\` what? Put it behind \`${command}\`.`,
  askedFor: (name: string, command: string, task: string) => `**${name}** asked: \`${command}\` ${task}`,
  cannotOpenThread: (mend: string) => `I can't open a thread here: ${mend}`,
  needPermissions: (rights: readonly string[]) =>
    `I need the permission ${rights.map((right) => `"${right}"`).join(' and ')} in this channel.`,
  newContext: 'Fresh start: from here on I no longer see what stands above.',
  shared: 'The transcript of this thread so far.',
  nothingToShare: 'There is nothing to share in this thread yet.',
  askMeSomething: 'Hello! Tell me what to do, or ask `help`.',
  helpIntro:
    'Mention me and say what you need; I answer in the thread. In a thread I take part in, you need not mention me again.',
  helpHelp: 'what I can do',
  helpPlan: 'ask the planner for a plan of TASK, without doing anything yet',
  helpReview: 'have WHAT (files, or a diff) reviewed for security, performance and style',
  helpStop: 'stop what I am doing in this thread',
  helpNew: 'forget what stands above in this thread',
  helpShare: 'put the transcript of this thread here as a file',
  helpTools: 'the tools I have here',
  helpUsage: 'tokens and cost of this thread, and of today',
  helpModel: 'the model that answers',
  // usage
  usageThread: 'This thread',
  usagePersonToday: (name: string) => `${name}, today (UTC)`,
  usageToday: 'Everybody, today (UTC)',
  usageNone: 'nothing yet',
  usageInput: (tokens: string, cached: string) => `${tokens} tokens in (${cached} cached)`,
  usageOutput: (tokens: string, reasoning: string) => `${tokens} out (${reasoning} reasoning)`,
  usageCostUnknown: 'cost unknown',
  usageCostPartly: (cost: string, calls: number) => `at least ${cost} (calls of unknown cost: ${calls})`,
  usageWithoutTokens: (calls: number) => `calls without counts: ${calls}`,
  usageEstimated: (calls: number) => `estimated calls: ${calls}`,
  // auditors
  inputRefused: "Sorry, I can't take this message: the check for safety did not let it through.",
  outputRefused: "Sorry, I can't show my answer: the check for safety did not let it through.",
  checkingAnswer: 'is checking the answer',
  // the transcript
  transcriptUntitled: 'Thread',
  transcriptOf: (thread: string, started: string) => `Thread ${thread}, started ${started}. Times are UTC.`,
  transcriptSomebody: 'Somebody',
  transcriptSystem: 'Instructions of the bot',
  transcriptImage: '(an image)',
  transcriptBackground: 'earlier in the thread, not to the bot',
  transcriptSteered: 'while the bot was working',
  transcriptPlan: 'asked for a plan',
  transcriptCallFailed: 'failed',
  transcriptNoResult: 'No result yet.',
  transcriptHandled: (what: string) => `Done: ${what}`,
  transcriptCompacted: 'What stands above, summarised for the model',
  transcriptBoundary: (name: string) => `${name} began afresh: the bot no longer sees what stands above.`,
  transcriptFailed: (reason: string) => `Ended with an error: ${reason}`,
  transcriptTokens: (input: string, output: string) => `${input} tokens in, ${output} out`,
  transcriptCalls: (calls: number) => (calls === 1 ? '1 model call' : `${calls} model calls`),
} as const

/** Every sentence the bot says to people, by language. `en` is the original; a test holds the others to its keys. */
export type Wording = {
  [K in keyof typeof en]: (typeof en)[K] extends (...args: infer A) => string ? (...args: A) => string : string
}
