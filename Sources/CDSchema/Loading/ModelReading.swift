import CDModel

/// Reads the files of a model's folder one by one and collects their contents.
struct ModelReading {
  var positions = ElementPositions()
  var head: DecodedModelFile?
  /// The versions, in ascending order of their numbers.
  var versions: [DecodedVersion] = []
  var mappings: [DecodedMapping] = []
  var locks: [LockParser.Entry] = []
  /// Versions whose files exist but could not be read.
  var unreadable: Set<Int>

  init(unreadable: Set<Int>) {
    self.unreadable = unreadable
  }

  mutating func read(_ file: ModelFile, _ diagnostics: DiagnosticCollector) {
    switch file.kind {
    case .model:
      guard let (context, root) = parse(file, version: 0, diagnostics) else { return }
      head = context.decodeModelFile(root)
      positions = context.positions
    case .version(let number):
      guard let (context, root) = parse(file, version: number, diagnostics) else {
        unreadable.insert(number)
        return
      }
      let version = context.decodeVersion(root)
      versions.insert(
        version, at: versions.firstIndex { $0.version.number > number } ?? versions.endIndex)
      positions = context.positions
    case .mapping(let source, let destination):
      readMapping(file, from: source, to: destination, diagnostics)
    case .lock: locks = LockParser.parse(file, diagnostics: diagnostics)
    case .other: break
    }
  }

  private mutating func readMapping(
    _ file: ModelFile, from source: Int, to destination: Int, _ diagnostics: DiagnosticCollector
  ) {
    let known = diagnostics.count
    guard let (context, root) = parse(file, version: 0, diagnostics) else {
      let nothing = MappingRules(source: source, destination: destination)
      mappings.append(DecodedMapping(rules: nothing, isBroken: true))
      return
    }
    var mapping = context.decodeMapping(root, from: source, to: destination)
    if diagnostics.count > known { mapping.isBroken = true }
    mappings.append(mapping)
    positions = context.positions
  }

  /// Parses one file. Returns nil if it cannot be read completely.
  private mutating func parse(
    _ file: ModelFile, version: Int, _ diagnostics: DiagnosticCollector
  ) -> (context: DecodingContext, root: MarkedNode?)? {
    let parsed = YAMLParser.parse(path: file.path, bytes: file.bytes, diagnostics: diagnostics)
    guard let source = parsed.source, parsed.isComplete else { return nil }
    let context = DecodingContext(
      source: source, version: version, diagnostics: diagnostics, positions: positions)
    // Emptying this property gives the context the only copy, so adding positions to it does not copy them all.
    positions = ElementPositions()
    return (context, parsed.root)
  }
}
