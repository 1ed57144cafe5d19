import CDModel

extension MigrationStep {
  /// A description of the step for people. It lists how the objects of each entity are mapped, each change with the rule
  /// that resolves it, and the rules that are missing. Each entry is on its own line. The text ends with a line break.
  ///
  /// - Parameter name: The name of the mapping, such as `3-4.mapping.yaml` for a file.
  public func planText(mapping name: String) -> String {
    var lines = ["version \(source) to version \(destination)" + (rules == nil ? "" : ", by \(name)")]
    for each in mapping.entityMappings { lines += Self.lines(of: each) }
    for each in mapping.duplicates {
      lines.append(
        "  of equal \(each.properties.joined(separator: ", ")) of \(each.entity): \(each.survivor.rawValue)")
    }
    if changes.isEmpty {
      lines.append("  nothing differs")
    } else {
      lines.append("  changes:")
      lines += changes.map { Self.line(of: $0) }
    }
    let problems = problems.filter { $0.severity == .error }
    if !problems.isEmpty {
      lines.append("  mistakes in the mapping:")
      lines += problems.map { "    \($0)" }
    }
    let open = openChanges
    if !open.isEmpty {
      lines.append("  to do:")
      lines += open.map { "    \($0.summary): \($0.remedies.text(mapping: name))" }
    }
    lines.append("  " + conclusion)
    return lines.joined(separator: "\n") + "\n"
  }

  /// Whether the step is proven, and what it loses, in a few words: `proven; one loss, which is confirmed`.
  package var conclusion: String {
    guard isProven else { return "not proven" }
    let left = changes.count { $0.verdict == .losesData && $0.resolution == .custom }
    let custom =
      left == 0 ? "" : left == 1 ? "one is up to the app's own code" : "\(left) are up to the app's own code"
    let count = losses.count
    if count == 0 {
      if !custom.isEmpty { return "proven; of the possible losses, \(custom)" }
      return changesNoData ? "proven; no data is touched" : "proven; nothing is lost"
    }
    return
      (count == 1 ? "proven; one loss, which is confirmed" : "proven; \(count) losses, all of them confirmed")
      + (custom.isEmpty ? "" : "; of the other possible losses, \(custom)")
  }

  private static func lines(of mapping: EntityMapping) -> [String] {
    let ends = [mapping.source, mapping.destination].compactMap { $0 }
    let names = ends.count == 2 && ends[0] == ends[1] ? ends[0] : ends.joined(separator: " → ")
    var lines = [
      "  \(mapping.kind.rawValue) \(names)"
        + (mapping.filter.map { " where \($0)" } ?? "")
        + mapping.words.map { ", \($0.key): \($0.word)" }.joined()
        + (mapping.kind == .custom ? " (\(mapping.name))" : "")
    ]
    // A value that is copied unchanged needs no line.
    for each in mapping.attributes where each.value != .keyPath(each.name) {
      lines.append("    \(each.name) = \(each.value)")
    }
    for each in mapping.relationships {
      switch each.value {
      case .objects(let value) where value == .keyPath([each.name]): continue
      case .objects(let value): lines.append("    \(each.name) → \(value)")
      case .inverse: lines.append("    \(each.name) → by its inverse")
      case .none: lines.append("    \(each.name) → nothing")
      }
    }
    return lines
  }

  private static func line(of change: ModelChange) -> String {
    let word =
      switch change.resolution {
      case .automatic: "automatic"
      case .mapped: "mapped"
      case .custom: "custom"
      case .confirmed: "confirmed"
      case .open: "open"
      }
    // The consequence is shown only if it will occur.
    let isFelt = change.resolution >= .confirmed || change.verdict == .automatic
    return "    \(word): \(isFelt ? change.description : change.summary)"
  }
}
