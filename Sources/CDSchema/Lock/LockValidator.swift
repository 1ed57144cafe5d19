import CDModel

/// Compares locked versions with their files.
struct LockValidator {
  let entries: [LockParser.Entry]
  let versions: [ModelVersion]
  /// Versions whose files have mistakes, so that their contents are unknown.
  let unreadable: Set<Int>
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  /// Reports every difference.
  ///
  /// - Returns: The locked versions that have files, and the changed versions among them. Mistakes that only follow
  ///   from a change need no further report.
  func validate() -> (locked: Set<Int>, changed: Set<Int>) {
    var locked: Set<Int> = []
    var changed: Set<Int> = []
    for entry in entries.sorted(by: { $0.version.number < $1.version.number }) {
      let number = entry.version.number
      if unreadable.contains(number) {
        locked.insert(number)
        continue
      }
      guard let version = versions.first(where: { $0.number == number }) else {
        diagnostics.error(
          entry.location,
          "version \(number) is locked, and its file \(VersionFile.name(of: number)) is missing: stores of it "
            + "exist, so restore the file from version control")
        continue
      }
      locked.insert(number)
      // The definition hash covers what the other hashes cover. Computing those takes much longer, so builds skip them.
      if version.definitionHash != entry.version.definition {
        changed.insert(number)
        reportDifferences(of: version, entry)
      }
    }
    return (locked, changed)
  }

  private func reportDifferences(of version: ModelVersion, _ entry: LockParser.Entry) {
    let differences = entry.version.differences(from: version)
    for difference in differences { report(difference, of: version, entry) }
    // If no element has changed, the lock itself is wrong, or the tool that wrote it.
    if differences.isEmpty {
      diagnostics.error(
        entry.definitionLocation,
        "these hashes do not match version \(version.number), although none of its elements has changed since the "
          + "lock; "
          + "restore the file from version control, or remove the block and run 'cdgen lock'")
    }
  }

  private func report(
    _ difference: LockedVersion.Difference, of version: ModelVersion, _ entry: LockParser.Entry
  ) {
    let number = version.number
    let remedy = "undo this, and change a new version ('cdgen add-version')"
    switch difference {
    case .added(let element):
      guard let place = positions.location(of: element, version: number) else { return }
      diagnostics.error(
        place,
        "version \(number) is locked, and \(element) was added since: stores of the version exist; \(remedy)")
    case .changed(let element):
      guard let place = positions.location(of: element, version: number) else { return }
      diagnostics.error(
        place,
        "version \(number) is locked, and \(element) was changed since: stores of the version exist; \(remedy)"
      )
    case .removed(let element):
      // A removed element has no line of its own, so the nearest line of its former owner is used.
      guard let place = positions.location(of: element, version: number) else { return }
      diagnostics.error(
        place,
        "version \(number) is locked, and \(element) was removed since: stores of the version exist; \(remedy)"
      )
    }
  }
}

extension LockedVersion {
  /// A difference between a version and the version that was locked.
  fileprivate enum Difference: Hashable {
    case added(ModelElement)
    case changed(ModelElement)
    case removed(ModelElement)
  }

  /// All differences from a version. If an element was added or removed as a whole, its parts are not listed.
  fileprivate func differences(from version: ModelVersion) -> [Difference] {
    let entries = ElementDigests(version).entries
    let present = Set(entries.map { $0.element })
    var result: [Difference] = []
    for entry in entries {
      guard let digits = elements[entry.element] else {
        if entry.element.container.map({ elements[$0] != nil }) ?? true {
          result.append(.added(entry.element))
        }
        continue
      }
      if digits != Self.digits(of: entry.digest) { result.append(.changed(entry.element)) }
    }
    for element in LockText.sorted(Array(elements.keys)) where !present.contains(element) {
      if element.container.map(present.contains) ?? true { result.append(.removed(element)) }
    }
    return result
  }
}
