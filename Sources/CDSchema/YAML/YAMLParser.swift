/// Parses a file into a tree of marked nodes and reports features of YAML that the schema language does not allow.
///
/// Anchors, aliases, tags, merge keys, directives and further documents are refused. Each of them makes the meaning of
/// a line depend on another line, and some would silently remove parts of an expression. Aliases are never expanded, so
/// the tree cannot grow beyond the file.
struct YAMLParser {
  private let source: SourceText
  private let diagnostics: DiagnosticCollector
  private let events: YAMLEventStream
  private var depth = 0
  private var nodeCount = 0
  /// The ranges of the scalars. A tab inside a scalar is part of its text.
  private var scalarRanges: [Range<Int>] = []

  /// The result of parsing a file.
  struct Result {
    var source: SourceText?
    /// The document; nil for an empty file, or if the file could not be read completely.
    var root: MarkedNode?
    /// Whether the file was read completely.
    var isComplete: Bool
  }

  /// Ends parsing after an error that is already reported.
  private struct Stop: Error {}

  static func parse(path: String, bytes: [UInt8], diagnostics: DiagnosticCollector) -> Result {
    guard let source = SourceText(path: path, bytes: bytes, diagnostics: diagnostics) else {
      return Result(source: nil, root: nil, isComplete: false)
    }
    var parser = YAMLParser(source: source, bytes: bytes, diagnostics: diagnostics)
    do {
      let root = try parser.parseStream()
      parser.reportTabs(throughLine: source.lineCount - 1)
      return Result(source: source, root: root, isComplete: true)
    } catch {
      return Result(source: source, root: nil, isComplete: false)
    }
  }

  private init(source: SourceText, bytes: [UInt8], diagnostics: DiagnosticCollector) {
    self.source = source
    self.diagnostics = diagnostics
    events = YAMLEventStream(bytes: bytes)
  }

  // MARK: The stream

  private mutating func parseStream() throws(Stop) -> MarkedNode? {
    var root: MarkedNode?
    var documents = 0
    while true {
      let (event, range) = try next()
      switch event {
      case .streamEnd: return root
      case .documentStart(let hasDirectives):
        documents += 1
        if hasDirectives {
          report(range.lowerBound, "YAML directives are not part of the schema language; remove the line")
        }
        if documents > 1 {
          report(range.lowerBound, "a second document; a file holds one, so remove the '---' before it")
          throw Stop()
        }
        let (first, firstRange) = try next()
        root = try parseNode(first, firstRange)
      default: continue
      }
    }
  }

  private mutating func next() throws(Stop) -> (event: YAMLEventStream.Event, range: Range<Int>) {
    do {
      return try events.next()
    } catch {
      report(error)
      throw Stop()
    }
  }

  // MARK: Nodes

  private mutating func parseNode(
    _ event: YAMLEventStream.Event, _ range: Range<Int>
  ) throws(Stop) -> MarkedNode {
    nodeCount += 1
    guard nodeCount <= YAMLLimits.nodes else {
      report(range.lowerBound, "more than \(YAMLLimits.nodes) values in one file")
      throw Stop()
    }
    switch event {
    case .alias(let name):
      report(
        range.lowerBound,
        "'*\(name)' is read by YAML as an alias, which the schema language does not have; "
          + "write the value out, or quote it if the '*' belongs to it")
      return MarkedNode(content: .refused, range: range)
    case .scalar(let text, let style, let properties):
      if refuses(properties, text: text, at: range) {
        scalarRanges.append(range)
        return MarkedNode(content: .refused, range: range)
      }
      scalarRanges.append(range)
      return MarkedNode(content: .scalar(text, style), range: range)
    case .sequenceStart(let properties):
      let isRefused = refuses(properties, text: nil, at: range)
      let node = try parseSequence(from: range.lowerBound)
      return isRefused ? MarkedNode(content: .refused, range: node.range) : node
    case .mappingStart(let isFlow, let properties):
      let isRefused = refuses(properties, text: nil, at: range)
      let node = try parseMapping(from: range.lowerBound, isFlow: isFlow)
      return isRefused ? MarkedNode(content: .refused, range: node.range) : node
    case .streamStart, .streamEnd, .documentStart, .documentEnd, .mappingEnd, .sequenceEnd:
      return MarkedNode(content: .refused, range: range)
    }
  }

  private mutating func enter(at offset: Int) throws(Stop) {
    depth += 1
    guard depth <= YAMLLimits.depth else {
      report(offset, "more than \(YAMLLimits.depth) mappings and lists within one another")
      throw Stop()
    }
  }

  private mutating func parseSequence(from start: Int) throws(Stop) -> MarkedNode {
    try enter(at: start)
    defer { depth -= 1 }
    var elements: [MarkedNode] = []
    while true {
      let (event, range) = try next()
      if case .sequenceEnd = event {
        return MarkedNode(content: .sequence(elements), range: start..<range.upperBound)
      }
      elements.append(try parseNode(event, range))
    }
  }

  private mutating func parseMapping(from start: Int, isFlow: Bool) throws(Stop) -> MarkedNode {
    try enter(at: start)
    defer { depth -= 1 }
    var pairs: [MarkedNode.Pair] = []
    var firstOffsets: [String: Int] = [:]
    while true {
      let (event, range) = try next()
      if case .mappingEnd = event {
        return MarkedNode(content: .mapping(pairs), range: start..<range.upperBound)
      }
      let key = try parseNode(event, range)
      let (valueEvent, valueRange) = try next()
      let value = try parseNode(valueEvent, valueRange)
      guard let name = keyName(key) else { continue }
      if let first = firstOffsets[name] {
        report(
          key.range.lowerBound,
          "'\(name)' is repeated here; the first is in line \(source.location(at: first).line)")
        continue
      }
      firstOffsets[name] = key.range.lowerBound
      if isFlow, value.isEmpty {
        reportMissingFlowValue(name, key: key, previous: pairs.last)
        pairs.append(.init(name: name, key: key, value: MarkedNode(content: .refused, range: value.range)))
      } else {
        pairs.append(.init(name: name, key: key, value: value))
      }
    }
  }

  /// The text of a key. Returns nil and reports the key if it is not a text.
  private func keyName(_ key: MarkedNode) -> String? {
    switch key.content {
    case .scalar("<<", .plain):
      report(
        key.range.lowerBound,
        "'<<' merges another mapping in, which the schema language does not have; write its keys out")
      return nil
    case .scalar("", .plain):
      report(key.range.lowerBound, "a value without a key; write the key before the ':'")
      return nil
    case .scalar(let text, _): return text
    case .refused: return nil
    case .mapping, .sequence:
      report(key.range.lowerBound, "a key must be a text, and this is \(key.kindName)")
      return nil
    }
  }

  // MARK: Refused features

  private func report(_ offset: Int, _ message: String) {
    diagnostics.error(source.location(at: offset), message)
  }

  private func refuses(_ properties: YAMLEventStream.Properties, text: String?, at range: Range<Int>) -> Bool
  {
    if let tag = properties.tag {
      let written = source.text(range.lowerBound..<min(range.upperBound, endOfLine(range.lowerBound)))
      let shown = tag == "!" ? "!" : written.split(separator: " ").first.map(String.init) ?? tag
      let quoted = text == nil ? "" : ": \"\(written.replacing("\"", with: "\\\""))\""
      report(
        range.lowerBound,
        "'\(shown)' is read by YAML as a tag and not as part of the value; quote the whole value\(quoted)")
    }
    if let anchor = properties.anchor {
      report(
        range.lowerBound,
        "'&\(anchor)' is read by YAML as an anchor, which the schema language does not have; "
          + "remove it, or quote the value if the '&' belongs to it")
    }
    return properties.tag != nil || properties.anchor != nil
  }

  private func endOfLine(_ offset: Int) -> Int {
    var end = offset
    while end < source.scalars.count, !ScalarScanner.isBreak(source.scalars[end]) { end += 1 }
    return end
  }

  private func reportMissingFlowValue(_ name: String, key: MarkedNode, previous: MarkedNode.Pair?) {
    let place = key.range.lowerBound
    if let colon = name.firstIndex(of: ":"), colon != name.startIndex, case .scalar(_, .plain) = key.content {
      let after = name[name.index(after: colon)...]
      report(place, "'\(name)' has no value; write a blank after the colon: '\(name[..<colon]): \(after)'")
    } else if !hasColon(after: key), let previous, case .scalar(let text, .plain) = previous.value.content {
      report(
        place,
        "'\(name)' has no value; if the comma belongs to the value of '\(previous.name)', "
          + "quote it: \(previous.name): \"\(text), \(name)\"")
    } else {
      report(place, "'\(name)' has no value")
    }
  }

  private func hasColon(after key: MarkedNode) -> Bool {
    var offset = key.range.upperBound
    while offset < source.scalars.count, ScalarScanner.isBlank(source.scalars[offset]) { offset += 1 }
    return offset < source.scalars.count && source.scalars[offset] == ":"
  }

  // MARK: Tabs and syntax errors

  /// Reports every tab in the indentation of a line, except inside a scalar.
  private func reportTabs(throughLine last: Int) {
    var ranges = scalarRanges.makeIterator()
    var current = ranges.next()
    for index in 0...max(0, last) where index < source.lineCount {
      let line = source.line(index)
      while let range = current, range.upperBound <= line.lowerBound { current = ranges.next() }
      if let range = current, range.lowerBound < line.lowerBound { continue }
      if let tab = tab(in: line) {
        report(tab, "a tab in the indentation; YAML is indented with blanks")
      }
    }
  }

  private func tab(in line: Range<Int>) -> Int? {
    var first: Int?
    for offset in line {
      switch source.scalars[offset] {
      case "\t": first = first ?? offset
      case " ": continue
      case "\n", "\r": return nil
      default: return first
      }
    }
    return nil
  }

  private func report(_ error: YAMLEventStream.SyntaxError) {
    let line = source.lineIndex(at: min(error.offset, source.scalars.count))
    reportTabs(throughLine: line)
    // If the line contains a tab in its indentation, libyaml's message would only confuse.
    if tab(in: source.line(line)) != nil { return }
    if let gluedKey = YAMLSyntaxMessage.gluedKey(for: error, in: source) {
      report(gluedKey.offset, gluedKey.message)
      return
    }
    let isUnended = error.problem == "found unexpected end of stream" && error.context != nil
    report(isUnended ? error.contextOffset : error.offset, YAMLSyntaxMessage.message(for: error, in: source))
  }
}
