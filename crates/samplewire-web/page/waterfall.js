// Draws the waterfall: by WebGL2, or on a 2D canvas where there is none. The newest row is at the top,
// and a row is one CSS pixel high. Each row keeps its own frequencies and level scale.

import { COLUMNS_MAX, KINDS, ROWS } from "./history.js";

/** @typedef {import("./history.js").History} History */

/**
 * @typedef {object} Look
 * @property {number} lowHz the frequency at the left edge
 * @property {number} spanHz
 * @property {number} floorDb
 * @property {number} ceilingDb
 * @property {Uint8Array<ArrayBuffer>} map 256 colours
 * @property {[number, number, number]} accent the colour of missing indexes
 * @property {[number, number, number]} back the background
 */

/** Texels that one pixel may cover. */
const OVERLAP_MAX = 16;
/** The width of a stripe of the hatch, in CSS pixels. */
export const STRIPE = 4;

const VERTEX = `#version 300 es
in vec2 corner;
void main() { gl_Position = vec4(corner, 0.0, 1.0); }`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D levels, about, map;
uniform vec2 size;
uniform float ratio, newest;
uniform vec3 accent, back;
out vec4 color;
void main() {
  vec2 at = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y) / ratio;
  float depth = floor(at.y);
  float row = mod(newest - depth + ${ROWS}.0, ${ROWS}.0);
  vec4 first = texelFetch(about, ivec2(0, int(row)), 0);
  vec4 second = texelFetch(about, ivec2(1, int(row)), 0);
  int kind = int(first.z);
  float stripe = mod(floor((at.x + at.y) / ${STRIPE}.0), 2.0);
  if (depth >= ${ROWS}.0 || kind == ${KINDS.empty}) { color = vec4(back, 1.0); return; }
  if (kind == ${KINDS.gap}) { color = vec4(stripe > 0.5 ? accent : back, 1.0); return; }
  float width = size.x / ratio;
  float from = first.x + (at.x - 0.5 / ratio) / width * first.y;
  float until = from + first.y / (width * ratio);
  if (kind == ${KINDS.unseen} || until <= 0.0 || from >= 1.0) {
    color = vec4(mix(back, vec3(0.5), 0.25), 1.0);
    return;
  }
  int last = int(first.w) - 1;
  int begin = clamp(int(floor(from * first.w)), 0, last);
  int end = clamp(int(ceil(until * first.w)) - 1, begin, last);
  float level = 0.0;
  for (int step = 0; step < ${OVERLAP_MAX}; step += 1) {
    int column = begin + step;
    if (column > end) { break; }
    level = max(level, texelFetch(levels, ivec2(column, int(row)), 0).r);
  }
  float shade = clamp(second.x + level * second.y, 0.0, 1.0);
  color = texelFetch(map, ivec2(int(shade * 255.0 + 0.5), 0), 0);
}`;

/**
 * What a row needs besides its levels: where the view begins in it and how wide the view is, both in
 * parts of the row; its kind and columns; the shade of byte 0 and of 255 bytes.
 * @param {History} history
 * @param {number} place
 * @param {Look} look
 * @param {Float32Array} out eight numbers
 */
function describe(history, place, look, out) {
  out.fill(0);
  const row = history.rows[place];
  if (!row) {
    return;
  }
  out[2] = KINDS[row.kind];
  if (row.frame) {
    const { centreHz, spanHz, offsetDb, stepDb } = row.frame;
    const range = look.ceilingDb - look.floorDb;
    out[0] = (look.lowHz - (centreHz - spanHz / 2)) / spanHz;
    out[1] = look.spanHz / spanHz;
    out[3] = history.columns[place];
    out[4] = (offsetDb - look.floorDb) / range;
    out[5] = (255 * stepDb) / range;
  }
}

class GlPainter {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.about = new Float32Array(8 * ROWS);
    this.program = link(gl);
    gl.useProgram(this.program);
    const corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
    const corner = gl.getAttribLocation(this.program, "corner");
    gl.enableVertexAttribArray(corner);
    gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.texture(0, "levels");
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R8, COLUMNS_MAX, ROWS);
    this.texture(1, "about");
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, 2, ROWS);
    this.texture(2, "map");
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGB8, 256, 1);
  }

  /**
   * @param {number} unit
   * @param {string} name
   */
  texture(unit, name) {
    const gl = this.gl;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.uniform1i(gl.getUniformLocation(this.program, name), unit);
  }

  /**
   * @param {History} history
   * @param {number} place
   */
  update(history, place) {
    const columns = history.columns[place];
    if (columns > 0) {
      const gl = this.gl;
      const from = place * COLUMNS_MAX;
      const bytes = history.levels.subarray(from, from + columns);
      gl.activeTexture(gl.TEXTURE0);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, place, columns, 1, gl.RED, gl.UNSIGNED_BYTE, bytes);
    }
  }

  /**
   * @param {History} history
   * @param {Look} look
   * @param {number} ratio device pixels of a CSS pixel
   */
  draw(history, look, ratio) {
    const gl = this.gl;
    const { width, height } = gl.canvas;
    const shown = Math.min(ROWS, Math.ceil(height / ratio));
    for (let depth = 0; depth < shown; depth += 1) {
      const { place } = history.at(depth);
      describe(history, place, look, this.about.subarray(8 * place, 8 * place + 8));
    }
    gl.activeTexture(gl.TEXTURE1);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 2, ROWS, gl.RGBA, gl.FLOAT, this.about);
    gl.activeTexture(gl.TEXTURE2);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 256, 1, gl.RGB, gl.UNSIGNED_BYTE, look.map);
    /** @param {string} name */
    const place = (name) => gl.getUniformLocation(this.program, name);
    gl.viewport(0, 0, width, height);
    gl.uniform2f(place("size"), width, height);
    gl.uniform1f(place("ratio"), ratio);
    gl.uniform1f(place("newest"), history.newest);
    gl.uniform3fv(place("accent"), look.accent.map((part) => part / 255));
    gl.uniform3fv(place("back"), look.back.map((part) => part / 255));
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }
}

/** @param {WebGL2RenderingContext} gl */
function link(gl) {
  const program = gl.createProgram();
  for (const [kind, text] of /** @type {[number, string][]} */ ([
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ])) {
    const shader = gl.createShader(kind);
    if (!shader) {
      throw new Error("no shader");
    }
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    throw new Error(gl.getProgramInfoLog(program) ?? "the shaders do not link");
  }
  return program;
}

class CanvasPainter {
  /** @param {CanvasRenderingContext2D} context */
  constructor(context) {
    this.context = context;
    this.about = new Float32Array(8);
  }

  update() {}

  /**
   * @param {History} history
   * @param {Look} look
   * @param {number} ratio
   */
  draw(history, look, ratio) {
    const { width, height } = this.context.canvas;
    const image = this.context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const colors = new Uint32Array(256);
    for (let shade = 0; shade < 256; shade += 1) {
      colors[shade] = packed(look.map.subarray(3 * shade, 3 * shade + 3));
    }
    const dim = packed(look.back.map((part) => Math.round(part + (127.5 - part) / 4)));
    const [accent, back] = [packed(look.accent), packed(look.back)];
    for (let y = 0; y < height; y += 1) {
      const depth = Math.floor(y / ratio);
      const { place, row } = history.at(depth);
      const line = pixels.subarray(y * width, (y + 1) * width);
      if (!row) {
        line.fill(back);
      } else if (row.kind === "gap") {
        for (let x = 0; x < width; x += 1) {
          const stripe = Math.floor((x / ratio + y / ratio) / STRIPE) % 2;
          line[x] = stripe ? accent : back;
        }
      } else if (row.kind === "unseen") {
        line.fill(dim);
      } else {
        this.line(history, place, look, line, colors, dim);
      }
    }
    this.context.putImageData(image, 0, 0);
  }

  /**
   * Draws a line of levels.
   * @param {History} history
   * @param {number} place
   * @param {Look} look
   * @param {Uint32Array} line
   * @param {Uint32Array} colors
   * @param {number} dim
   */
  line(history, place, look, line, colors, dim) {
    describe(history, place, look, this.about);
    const [start, scale, , columns, base, gain] = this.about;
    const levels = history.levels.subarray(place * COLUMNS_MAX, place * COLUMNS_MAX + columns);
    for (let x = 0; x < line.length; x += 1) {
      const from = start + (x / line.length) * scale;
      const until = from + scale / line.length;
      if (until <= 0 || from >= 1) {
        line[x] = dim;
        continue;
      }
      const begin = Math.max(0, Math.floor(from * columns));
      const end = Math.min(columns, Math.max(begin + 1, Math.ceil(until * columns)));
      let level = 0;
      for (let column = begin; column < end; column += 1) {
        level = Math.max(level, levels[column]);
      }
      const shade = Math.min(1, Math.max(0, base + (level / 255) * gain));
      line[x] = colors[Math.floor(shade * 255 + 0.5)];
    }
  }
}

/**
 * A pixel of ImageData on a little-endian machine.
 * @param {ArrayLike<number>} rgb
 */
function packed(rgb) {
  return ((255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
}

/**
 * Returns what draws on the canvas.
 * @param {HTMLCanvasElement} canvas
 * @param {boolean} isPlain without WebGL
 */
export function painter(canvas, isPlain) {
  const gl = isPlain ? null : canvas.getContext("webgl2", { antialias: false, alpha: false });
  if (gl) {
    return { name: "WebGL2", painter: new GlPainter(gl) };
  }
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) {
    throw new Error("this browser draws on no canvas");
  }
  return { name: "2D canvas", painter: new CanvasPainter(context) };
}
