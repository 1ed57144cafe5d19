import CDModel

/// Compares the locked versions with their files.
struct LockValidator {
  let entries: [LockParser.Entry]
  let versions: [ModelVersion]
  /// Versions whose files have mistakes: what they hold is not known.
  let unreadable: Set<Int>
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  /// Reports every difference.
  ///
  /// - Returns: The locked versions that have files, and those among them that are not what they were: nothing
  ///   that follows from that is worth a word.
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
      // The other hashes follow from this one, and take much longer: builds do without them.
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
    // Where every element is as it was, it is the lock that is wrong, or what made it.
    if differences.isEmpty {
      diagnostics.error(
        entry.definitionLocation,
        "these are not the hashes of version \(version.number), of which every element is as it was locked; "
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
        "version \(number) is locked, and did not have \(element) when it was: stores of it exist; \(remedy)")
    case .changed(let element):
      guard let place = positions.location(of: element, version: number) else { return }
      diagnostics.error(
        place,
        "version \(number) is locked, and \(element) is not what it was then: stores of it exist; \(remedy)")
    case .removed(let element):
      // What is gone has no line of its own: that of what it belonged to is the nearest.
      guard let place = positions.location(of: element, version: number) else { return }
      diagnostics.error(
        place,
        "version \(number) is locked, and \(element) is no longer in it: stores of it exist; \(remedy)")
    }
  }
}

extension LockedVersion {
  /// How an element of a version is not what it was when the version was locked.
  fileprivate enum Difference: Hashable {
    case added(VersionElement)
    case changed(VersionElement)
    case removed(VersionElement)
  }

  /// Every element that is not as it was. What belongs to an element that came or went as a whole is not
  /// listed beside it.
  fileprivate func differences(from version: ModelVersion) -> [Difference] {
    let entries = ElementDigests(version).entries
    let present = Set(entries.map(\.element))
    var result: [Difference] = []
    for entry in entries {
      guard let digits = elements[entry.element] else {
        if entry.element.owner.map({ elements[$0] != nil }) ?? true { result.append(.added(entry.element)) }
        continue
      }
      if digits != Self.digits(of: entry.digest) { result.append(.changed(entry.element)) }
    }
    for element in LockText.sorted(Array(elements.keys)) where !present.contains(element) {
      if element.owner.map(present.contains) ?? true { result.append(.removed(element)) }
    }
    return result
  }
}

extension VersionElement {
  /// The element that this one is a part of; nil for what belongs to the version itself.
  fileprivate var owner: VersionElement? {
    switch self {
    case .bases, .enumeration, .composite, .configuration, .entity: nil
    case .field(let composite, _): .composite(composite)
    case .attribute(let entity, _), .relationship(let entity, _), .fetchedProperty(let entity, _),
      .fetchTemplate(let entity, _), .indexes(let entity), .uniquenessConstraints(let entity):
      .entity(entity)
    }
  }
}
