import CLibYAML

/// libyaml's events as Swift values. Positions stay offsets in Unicode scalars.
final class YAMLEventStream {
  enum Event {
    case streamStart, streamEnd, documentEnd, mappingEnd, sequenceEnd
    case documentStart(hasDirectives: Bool)
    case alias(name: String)
    case scalar(text: String, style: MarkedNode.ScalarStyle, properties: Properties)
    case sequenceStart(Properties)
    case mappingStart(isFlow: Bool, properties: Properties)
  }

  /// The properties that YAML allows before a node.
  struct Properties {
    var anchor: String?
    var tag: String?
  }

  /// The position and reason of a syntax error.
  struct SyntaxError: Error {
    var offset: Int
    var problem: String
    var context: String?
    var contextOffset: Int
  }

  // libyaml's parser contains pointers into itself, so it must not be moved in memory.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let bytes: UnsafeMutableBufferPointer<UInt8>

  init(bytes source: [UInt8]) {
    parser = .allocate(capacity: 1)
    bytes = .allocate(capacity: max(source.count, 1))
    _ = bytes.initialize(from: source)
    yaml_parser_initialize(parser)
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, bytes.baseAddress, source.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
    bytes.deallocate()
  }

  /// Returns the next event with its range of offsets.
  func next() throws(SyntaxError) -> (event: Event, range: Range<Int>) {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw syntaxError() }
    defer { yaml_event_delete(&event) }
    let start = Int(event.start_mark.index)
    return (Self.swiftEvent(event), start..<max(start, Int(event.end_mark.index)))
  }

  private func syntaxError() -> SyntaxError {
    let state = parser.pointee
    return SyntaxError(
      offset: Int(state.problem_mark.index),
      problem: state.problem.map { String(cString: $0) } ?? "the text could not be read",
      context: state.context.map { String(cString: $0) },
      contextOffset: Int(state.context_mark.index))
  }

  private static func swiftEvent(_ event: yaml_event_t) -> Event {
    switch event.type {
    case YAML_STREAM_START_EVENT: return .streamStart
    case YAML_DOCUMENT_START_EVENT:
      let start = event.data.document_start
      let hasTags = start.tag_directives.start != start.tag_directives.end
      return .documentStart(hasDirectives: start.version_directive != nil || hasTags)
    case YAML_DOCUMENT_END_EVENT: return .documentEnd
    case YAML_ALIAS_EVENT: return .alias(name: text(event.data.alias.anchor) ?? "")
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      let value = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
      return .scalar(
        text: String(decoding: value, as: UTF8.self), style: style(scalar.style),
        properties: Properties(anchor: text(scalar.anchor), tag: text(scalar.tag)))
    case YAML_SEQUENCE_START_EVENT:
      let start = event.data.sequence_start
      return .sequenceStart(Properties(anchor: text(start.anchor), tag: text(start.tag)))
    case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
    case YAML_MAPPING_START_EVENT:
      let start = event.data.mapping_start
      return .mappingStart(
        isFlow: start.style == YAML_FLOW_MAPPING_STYLE,
        properties: Properties(anchor: text(start.anchor), tag: text(start.tag)))
    case YAML_MAPPING_END_EVENT: return .mappingEnd
    default: return .streamEnd
    }
  }

  private static func style(_ style: yaml_scalar_style_t) -> MarkedNode.ScalarStyle {
    switch style {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE: .singleQuoted
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE: .doubleQuoted
    case YAML_LITERAL_SCALAR_STYLE: .literal
    case YAML_FOLDED_SCALAR_STYLE: .folded
    default: .plain
    }
  }

  private static func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    pointer.map { String(decodingCString: $0, as: UTF8.self) }
  }
}
