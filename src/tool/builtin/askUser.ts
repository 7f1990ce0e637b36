import { z } from 'zod'
import type { Tool } from '../tool.ts'

const parameters = z.object({
  question: z.string().min(1).describe('The question, as Markdown; say what you need it for'),
  options: z
    .array(z.string().min(1).max(75))
    .max(20)
    .default([])
    .describe('Answers to choose from; people can also answer in their own words'),
})

/** The tool `ask_user`: asks the people in the thread and waits for the answer. It never runs; their answer is its result. */
export const askUserTool: Tool<z.infer<typeof parameters>> = {
  name: 'ask_user',
  description:
    'Asks the people in this thread a question and waits for their answer, which can take hours. Ask only what you can not find out by yourself and what changes what you do next; ask everything at once.',
  permission: 'safe',
  parameters,
  question: ({ question, options }) => ({ text: question, options }),
  invoke: () => Promise.reject(new Error('a question is answered by people')),
}
