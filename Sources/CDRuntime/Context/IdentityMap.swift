import CSQLite

/// The objects of one inheritance root in one context, by key.
///
/// A table with open addressing whose hash is the key itself: keys come in sequence, and neighbours in the
/// table are then neighbours in memory. Keys in a pattern that this hash piles up, such as multiples of a
/// power of two, are noticed by the length of a probe, and the table goes over to a hash that scatters until it
/// grows.
///
/// An entry has the key beside the object, so that probing and growing get along without touching objects: for
/// a lookup among many, what counts is how many places of memory it goes to.
///
/// The map keeps its objects alive. When it has doubled it lets go of those that nobody else holds and that
/// have no changes.
final class IdentityMap {
  // Nothing is called while a property is changed, so that no access can meet another; to check that takes longer
  // than a lookup.

  /// All bits of an empty entry are zero.
  private struct Entry {
    /// 0 in an empty entry.
    var key: ObjectKey
    /// A strong reference, counted by hand: entries move when the table grows, and need no counting then.
    var object: Unmanaged<ManagedObject>?
  }

  @exclusivity(unchecked) private var entries: UnsafeMutablePointer<Entry>
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private var mask: Int
  @exclusivity(unchecked) private(set) var count = 0
  @exclusivity(unchecked) private var isScattered = false
  /// How many places were passed in putting the entries where they are.
  @exclusivity(unchecked) private var passed = 0
  /// How many places were passed at most in putting one of the entries where it is.
  @exclusivity(unchecked) private var longest = 0
  /// The count from which on a sweep is worth its while.
  @exclusivity(unchecked) private var sweepCount = 2048

  private static let smallest = 64
  private static let longProbe = 48

  init() {
    capacity = Self.smallest
    mask = capacity - 1
    entries = Self.allocate(capacity)
  }

  deinit { Self.release(entries, capacity) }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let memory = TableMemory.allocate(capacity * MemoryLayout<Entry>.stride)
    return memory.bindMemory(to: Entry.self, capacity: capacity)
  }

  private static func deallocate(_ entries: UnsafeMutablePointer<Entry>, _ capacity: Int) {
    TableMemory.deallocate(entries, capacity * MemoryLayout<Entry>.stride)
  }

  private static func release(_ entries: UnsafeMutablePointer<Entry>, _ capacity: Int) {
    for place in 0..<capacity { entries[place].object?.release() }
    deallocate(entries, capacity)
  }

  @inline(__always) private func start(_ key: ObjectKey) -> Int {
    let bits = Int(truncatingIfNeeded: key)
    if !isScattered { return bits & mask }
    let product = UInt(bitPattern: bits) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: product >> 20) & mask
  }

  @inline(__always) subscript(key: ObjectKey) -> ManagedObject? {
    var place = start(key)
    while true {
      let found = entries[place].key
      if found == key { return entries[place].object?.takeUnretainedValue() }
      if found == 0 { return orphans == nil ? nil : adopt(key) }
      place = (place &+ 1) & mask
    }
  }

  /// Objects that have outlived a context before this one; nil in the map of a context that the app has made.
  @exclusivity(unchecked) var orphans: OrphanTable?

  /// Takes an object in that has outlived its context.
  private func adopt(_ key: ObjectKey) -> ManagedObject? {
    guard let object = orphans?.take(key) else { return nil }
    insert(object)
    return object
  }

  /// Takes all of them in.
  func adoptAll() {
    guard let orphans, !orphans.isEmpty else { return }
    for object in orphans.takeAll() { insert(object) }
  }

  /// Lets go of all objects.
  ///
  /// - Returns: Those that somebody else holds.
  func disown() -> OrphanTable? {
    var table = orphans
    let (old, oldCapacity) = takeEntries()
    for place in 0..<oldCapacity {
      guard let object = old[place].object else { continue }
      if !Self.isOnlyReference(&old[place].object) {
        if table == nil { table = OrphanTable() }
        table?.add(object.takeUnretainedValue())
      }
    }
    Self.release(old, oldCapacity)
    return table?.isEmpty == false ? table : nil
  }

  /// Whether the object of the row before was not in the map, as it will be of the next then.
  @exclusivity(unchecked) var missedLast = false

  /// Has the memory where a key's entry is, or would be, on its way. Keys in no sequence are each in a place of
  /// their own, and waiting for it takes as long as reading a few columns.
  @inline(__always) func prefetch(_ key: ObjectKey) { csqlite_prefetch(entries + start(key)) }

  /// Whether so many objects have come since the last sweep that another one is due.
  var isSweepDue: Bool { count >= sweepCount }

  /// Notes that as many objects are held by somebody: a sweep among them would find little.
  func expectHeld(_ held: Int) {
    if held * 2 > count { sweepCount = max(sweepCount, count * 2) }
  }

  /// Adds an object whose key the map has not.
  @inline(__always) func insert(_ object: ManagedObject) {
    // Keys in sequence do not get into each other's way however full the table is; others need room.
    let isFull =
      passed &* 8 > count ? (count &+ 1) &* 2 > capacity : (count &+ 1) &* 16 > capacity &* 15
    if isFull { resize(to: capacity &* 2) }
    let probes = put(Entry(key: object.key, object: Unmanaged.passRetained(object)))
    if probes > Self.longProbe, !isScattered { scatter() }
  }

  /// Puts a reference that is counted already into the table.
  ///
  /// - Returns: How many places were passed.
  @inline(__always) private func put(_ entry: Entry) -> Int {
    var place = start(entry.key)
    var probes = 0
    while entries[place].key != 0 {
      place = (place &+ 1) & mask
      probes &+= 1
    }
    entries[place] = entry
    count &+= 1
    passed &+= probes
    if probes > longest { longest = probes }
    return probes
  }

  private func scatter() {
    resize(to: count * 4 > capacity * 3 ? capacity * 2 : capacity, isScattered: true)
  }

  /// - Parameter isScattered: Whether the hash is to scatter. Otherwise it does so only where the keys are not well
  ///   off without: what piles up in a small table may be in sequence in a large one.
  private func resize(to newCapacity: Int, isScattered: Bool = false) {
    let (old, oldCapacity) = (entries, capacity)
    capacity = newCapacity
    mask = newCapacity - 1
    entries = Self.allocate(newCapacity)
    self.isScattered = isScattered
    if !fill(from: old, oldCapacity) {
      Self.deallocate(entries, newCapacity)
      entries = Self.allocate(newCapacity)
      self.isScattered = true
      _ = fill(from: old, oldCapacity)
    }
    Self.deallocate(old, oldCapacity)
  }

  /// Puts the entries of another table into this one, which is empty.
  ///
  /// - Returns: Whether all have their places; false where the keys pile up under the hash that does not scatter.
  private func fill(from old: UnsafeMutablePointer<Entry>, _ oldCapacity: Int) -> Bool {
    count = 0
    passed = 0
    longest = 0
    for number in 0..<oldCapacity where old[number].key != 0 {
      let probes = put(old[number])
      if !isScattered, probes > Self.longProbe || passed > 64 + count { return false }
    }
    return true
  }

  func remove(_ key: ObjectKey) {
    var hole = start(key)
    while entries[hole].key != key {
      if entries[hole].key == 0 {
        orphans?.remove(key)
        return
      }
      hole = (hole &+ 1) & mask
    }
    let removed = entries[hole].object
    entries[hole] = Entry(key: 0, object: nil)
    count &-= 1
    // What was pushed behind the hole moves up, so that probes need no marks for what was removed.
    // An entry further from the hole than any was pushed stays: keys in sequence fill the table without a gap, and to go to
    // the end of such a run for each key would take as long as the run.
    var next = (hole &+ 1) & mask
    while entries[next].key != 0, (next &- hole) & mask <= longest {
      let home = start(entries[next].key)
      if (next &- home) & mask >= (next &- hole) & mask {
        entries[hole] = entries[next]
        entries[next] = Entry(key: 0, object: nil)
        hole = next
      }
      next = (next &+ 1) & mask
    }
    // Last, for a deinit of the user's may use the context.
    removed?.release()
  }

  /// Lets go of objects that are clean and that nobody else holds.
  func sweep() {
    var dropped: [Unmanaged<ManagedObject>] = []
    for place in 0..<capacity where isUnused(at: place) {
      if let object = entries[place].object { dropped.append(object) }
      entries[place] = Entry(key: 0, object: nil)
    }
    var needed = Self.smallest
    while (count - dropped.count) * 2 > needed { needed *= 2 }
    // The rest is placed anew in any case: probes must not end at what was dropped.
    resize(to: needed)
    sweepCount = max(2048, count * 2)
    // Last, for a deinit of the user's may use the context.
    for object in dropped { object.release() }
  }

  /// Lets go of one object, where it is clean and nobody else holds it.
  func release(_ key: ObjectKey) {
    if isUnused(key) { remove(key) }
  }

  /// Has the next sweep wait until the objects have doubled, as it does after one.
  func postponeSweep() { sweepCount = max(2048, count * 2) }

  /// How many of some of the objects nobody else holds.
  func sampleOfUnused() -> (seen: Int, unused: Int) {
    var (seen, unused) = (0, 0)
    // Scattered, for what is held may be so in a pattern of keys.
    for number in 0..<512 {
      let place = Int(truncatingIfNeeded: UInt(number) &* 0x9E37_79B9_7F4A_7C15 >> 20) & mask
      if entries[place].key == 0 { continue }
      seen += 1
      if isUnused(at: place) { unused += 1 }
    }
    return (seen, unused)
  }

  /// Whether nobody else holds the object of a key.
  func isUnused(_ key: ObjectKey) -> Bool {
    var place = start(key)
    while entries[place].key != key {
      if entries[place].key == 0 { return false }
      place = (place &+ 1) & mask
    }
    return isUnused(at: place)
  }

  /// Whether nobody else holds an entry's object, and it has no changes.
  private func isUnused(at place: Int) -> Bool {
    guard entries[place].key != 0, let object = entries[place].object else { return false }
    return Self.isOnlyReference(&entries[place].object) && !object.takeUnretainedValue().isPending
  }

  /// Whether nobody else holds an entry's object. The check looks at the reference count alone: the entry is a strong
  /// reference in all but its type.
  private static func isOnlyReference(_ object: inout Unmanaged<ManagedObject>?) -> Bool {
    withUnsafeMutablePointer(to: &object) {
      $0.withMemoryRebound(to: ManagedObject.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
    }
  }

  /// The objects, in no order.
  var objects: [ManagedObject] {
    adoptAll()
    var objects: [ManagedObject] = []
    objects.reserveCapacity(count)
    for place in 0..<capacity {
      if let object = entries[place].object { objects.append(object.takeUnretainedValue()) }
    }
    return objects
  }

  func removeAll() {
    let (old, oldCapacity) = takeEntries()
    Self.release(old, oldCapacity)
  }

  /// Makes the map an empty one. The map is in order before any object goes: the end of one may use it.
  ///
  /// - Returns: The entries until now, which the caller releases.
  private func takeEntries() -> (UnsafeMutablePointer<Entry>, Int) {
    defer {
      orphans = nil
      capacity = Self.smallest
      mask = capacity - 1
      (count, passed, longest, isScattered) = (0, 0, 0, false)
      entries = Self.allocate(capacity)
    }
    return (entries, capacity)
  }
}
