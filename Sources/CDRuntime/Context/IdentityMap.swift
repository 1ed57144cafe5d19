/// The objects of one inheritance root in one context, by key.
///
/// A table with open addressing whose hash is the key itself: keys come in sequence, and neighbours in the
/// table are then neighbours in memory. Keys in a pattern that this hash piles up, such as multiples of a
/// power of two, are noticed by the length of a probe, and the table goes over to a hash that scatters.
///
/// An entry has 12 bytes: a tag of the key's low bits, by which probing and growing get along without touching
/// objects, and the object, which knows the whole key.
///
/// The map keeps its objects alive. When it has doubled it lets go of those that nobody else holds and that
/// have no changes.
final class IdentityMap {
  /// A strong reference, counted by hand: entries move when the table grows, and need no counting then.
  private typealias Entry = Unmanaged<ManagedObject>

  private var entries: UnsafeMutablePointer<Entry>
  /// The tags of the entries; 0 of an empty one.
  private var tags: UnsafeMutablePointer<UInt32>
  private var capacity: Int
  private var mask: Int
  private(set) var count = 0
  private var isScattered = false
  /// The count from which on a sweep is worth its while.
  private var sweepCount = 2048

  private static let smallest = 64
  private static let longProbe = 48

  init() {
    capacity = Self.smallest
    mask = capacity - 1
    (entries, tags) = Self.allocate(capacity)
  }

  deinit { Self.release(entries, tags, capacity) }

  private static func allocate(
    _ capacity: Int
  ) -> (UnsafeMutablePointer<Entry>, UnsafeMutablePointer<UInt32>) {
    let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    let tags = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
    // The entry of an empty tag is never read.
    tags.initialize(repeating: 0, count: capacity)
    return (entries, tags)
  }

  private static func release(
    _ entries: UnsafeMutablePointer<Entry>, _ tags: UnsafeMutablePointer<UInt32>, _ capacity: Int
  ) {
    for place in 0..<capacity where tags[place] != 0 { entries[place].release() }
    entries.deallocate()
    tags.deallocate()
  }

  @inline(__always) private static func tag(_ key: ObjectKey) -> UInt32 {
    let tag = UInt32(truncatingIfNeeded: key)
    return tag == 0 ? 1 << 31 : tag
  }

  @inline(__always) private func start(_ tag: UInt32) -> Int {
    let bits = Int(tag)
    if !isScattered { return bits & mask }
    let product = UInt(bitPattern: bits) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: product >> 20) & mask
  }

  /// Whether the entry of a place is of a key, when the tag is.
  @inline(__always) private func isEntry(_ place: Int, of key: ObjectKey) -> Bool {
    entries[place]._withUnsafeGuaranteedRef { $0.key } == key
  }

  @inline(__always) subscript(key: ObjectKey) -> ManagedObject? {
    let tag = Self.tag(key)
    var place = start(tag)
    while tags[place] != 0 {
      if tags[place] == tag, isEntry(place, of: key) { return entries[place].takeUnretainedValue() }
      place = (place &+ 1) & mask
    }
    return nil
  }

  /// Whether so many objects have come since the last sweep that another one is due.
  var isSweepDue: Bool { count >= sweepCount }

  /// Notes that as many objects are held by somebody: a sweep among them would find little.
  func expectHeld(_ held: Int) {
    if held * 2 > count { sweepCount = max(sweepCount, count * 2) }
  }

  /// Adds an object whose key the map has not.
  @inline(__always) func insert(_ object: ManagedObject) {
    // Keys in sequence do not get into each other's way however full the table is.
    if (count &+ 1) &* 4 > capacity &* 3, isScattered || (count &+ 1) &* 16 > capacity &* 15 {
      resize(to: capacity &* 2)
    }
    place(Unmanaged.passRetained(object), Self.tag(object.key))
  }

  /// Puts a reference that is counted already into the table.
  @inline(__always) private func place(_ entry: Entry, _ tag: UInt32) {
    var place = start(tag)
    var probes = 0
    while tags[place] != 0 {
      place = (place &+ 1) & mask
      probes &+= 1
    }
    entries[place] = entry
    tags[place] = tag
    count &+= 1
    if probes > Self.longProbe, !isScattered { scatter() }
  }

  private func scatter() {
    isScattered = true
    resize(to: count * 4 > capacity * 3 ? capacity * 2 : capacity)
  }

  private func resize(to newCapacity: Int) {
    let (old, oldTags, oldCapacity) = (entries, tags, capacity)
    capacity = newCapacity
    mask = newCapacity - 1
    (entries, tags) = Self.allocate(newCapacity)
    count = 0
    for place in 0..<oldCapacity where oldTags[place] != 0 { self.place(old[place], oldTags[place]) }
    old.deallocate()
    oldTags.deallocate()
  }

  func remove(_ key: ObjectKey) {
    let tag = Self.tag(key)
    var hole = start(tag)
    while tags[hole] != 0, tags[hole] != tag || !isEntry(hole, of: key) { hole = (hole &+ 1) & mask }
    guard tags[hole] != 0 else { return }
    let removed = entries[hole]
    tags[hole] = 0
    count &-= 1
    // What was pushed behind the hole moves up, so that probes need no marks for what was removed.
    var next = (hole &+ 1) & mask
    while tags[next] != 0 {
      let home = start(tags[next])
      if (next &- home) & mask >= (next &- hole) & mask {
        entries[hole] = entries[next]
        tags[hole] = tags[next]
        tags[next] = 0
        hole = next
      }
      next = (next &+ 1) & mask
    }
    // Last, for a deinit of the user's may use the context.
    removed.release()
  }

  /// Lets go of objects that are clean and that nobody else holds.
  func sweep() {
    var dropped: [Entry] = []
    for place in 0..<capacity where tags[place] != 0 && isUnused(place) {
      dropped.append(entries[place])
      tags[place] = 0
    }
    var needed = Self.smallest
    while (count - dropped.count) * 2 > needed { needed *= 2 }
    // The rest is placed anew in any case: probes must not end at what was dropped.
    resize(to: needed)
    sweepCount = max(2048, count * 2)
    // Last, for a deinit of the user's may use the context.
    for entry in dropped { entry.release() }
  }

  /// Whether nobody else holds an entry's object, and it has no changes.
  private func isUnused(_ place: Int) -> Bool {
    // The check looks at the reference count alone. An entry is a strong reference in all but its type.
    (entries + place).withMemoryRebound(to: ManagedObject.self, capacity: 1) {
      isKnownUniquelyReferenced(&$0.pointee) && !$0.pointee.isPending
    }
  }

  /// The objects, in no order.
  var objects: [ManagedObject] {
    var objects: [ManagedObject] = []
    objects.reserveCapacity(count)
    for place in 0..<capacity where tags[place] != 0 { objects.append(entries[place].takeUnretainedValue()) }
    return objects
  }

  func removeAll() {
    let (old, oldTags, oldCapacity) = (entries, tags, capacity)
    capacity = Self.smallest
    mask = capacity - 1
    count = 0
    isScattered = false
    (entries, tags) = Self.allocate(capacity)
    Self.release(old, oldTags, oldCapacity)
  }
}
