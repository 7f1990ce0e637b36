# ToyCoder as an image. Build and run:
#   docker build -t toycoder .
#   docker run --init -p 127.0.0.1:3000:3000 --env-file .env -v toycoder-data:/app/data -v "$PWD/project:/app/workspace" toycoder
# Inside of a container the web part has to listen on all addresses, and so the console asks for a token: the start prints a
# link that carries it. Publish the port to 127.0.0.1 as above, or set console.public_url and put TLS in front.
FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image has its own Node, so the one that package.json pins for machines without it is taken out again.
RUN npm ci --omit=dev && rm -rf node_modules/node node_modules/.bin/node

FROM node:24-slim
# bubblewrap is the sandbox of run_command, git what a workspace is mostly looked at with.
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap git \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE manifest.yml ./
COPY bin ./bin
COPY prompts ./prompts
COPY src ./src
# The code belongs to root and can't be changed from within; these two folders can.
RUN mkdir data workspace && chown node:node data workspace
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
USER node
VOLUME ["/app/data"]
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Ends within 10 seconds after SIGTERM, which is what Docker grants.
CMD ["node", "src/main.ts"]
